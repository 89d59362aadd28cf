"""The worker of the pipeline: extract, transform, report. See README.md."""

import csv
from collections import Counter
from decimal import Decimal, InvalidOperation
from itertools import islice

import tasker

LINES = 10  # of a chunk
COLUMNS = ["date", "shop", "product", "quantity", "price"]

worker = tasker.Worker()


@worker.handler("sales.extract")
def extract(step: tasker.SyncStep) -> dict[str, object]:
    """Cuts the file into chunks. A chunk is a place, not the rows: contexts stay small."""
    file = step.context["file"]
    with open(file) as lines:
        last = sum(1 for _ in lines)
    return {"chunks": [{"file": file, "first": n, "last": min(n + LINES - 1, last)} for n in range(2, last + 1, LINES)]}


@worker.handler("sales.transform", concurrency=4)
def transform(step: tasker.SyncStep) -> dict[str, object]:
    """Adds up the sales of one chunk by shop. What cannot be read fails for good: no retry would change it."""
    chunk = step.context["item"]
    fixes = chunk.get("fixes", {})  # lines that an operator has supplied
    sales: Counter[str] = Counter()
    with open(chunk["file"]) as lines:
        for number, line in enumerate(islice(lines, chunk["first"] - 1, chunk["last"]), chunk["first"]):
            shop, cents = read(number, fixes.get(str(number), line.rstrip("\n")))
            sales[shop] += cents
    return {"rows": chunk["last"] - chunk["first"] + 1, "sales": sales}


def read(number: int, line: str) -> tuple[str, int]:
    """Reads a line into a shop and an amount."""
    row = next(csv.reader([line]))
    if len(row) != len(COLUMNS):
        raise tasker.FinalError(
            f"line {number} has {len(row)} columns", code="columns", details={"line": number, "text": line}
        )
    _, shop, _, quantity, price = row
    try:
        return shop, int(int(quantity) * Decimal(price) * 100)
    except (ValueError, InvalidOperation):
        raise tasker.FinalError(
            f"line {number} has no amount", code="amount", details={"line": number, "text": line}
        ) from None


@worker.handler("sales.report")
def report(step: tasker.SyncStep) -> dict[str, object]:
    """Joins the chunks. One that failed is null."""
    chunks = step.parent_result("transform")
    total: Counter[str] = Counter()
    for chunk in filter(None, chunks):
        total.update(chunk["sales"])
    return {
        "rows": sum(c["rows"] for c in chunks if c),
        "missing_chunks": chunks.count(None),
        "euros": {shop: cents / 100 for shop, cents in sorted(total.items())},
    }


if __name__ == "__main__":
    worker.run()
