"""Runs the examples in docstrings."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import unittest

import tasker


def load_tests(loader: unittest.TestLoader, tests: unittest.TestSuite, pattern: str | None) -> unittest.TestSuite:
    tests.addTests(doctest.DocTestSuite(tasker))
    for module in pkgutil.iter_modules(tasker.__path__):
        tests.addTests(doctest.DocTestSuite(importlib.import_module(f"tasker.{module.name}")))
    return tests
