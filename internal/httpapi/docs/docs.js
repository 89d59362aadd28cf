// Shows /openapi.json. Text reaches the page through textContent only, so
// nothing in the document can become markup.
'use strict';

const METHODS = ['get', 'post', 'patch', 'delete'];

// el makes an element: el('p', {id: 'x'}, 'text', child...).
function el(name, attributes, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) node.setAttribute(key, value);
  for (const child of children) node.append(child);
  return node;
}

const nameOf = (ref) => ref.split('/').pop();

// typeOf describes a schema in one line; a component is a link to its table.
function typeOf(schema) {
  if (!schema) return '';
  if (schema.$ref) return el('a', {href: '#schema-' + nameOf(schema.$ref)}, nameOf(schema.$ref));
  if (schema.oneOf) {
    const out = el('span');
    schema.oneOf.forEach((s, i) => out.append(i ? ' or ' : '', typeOf(s)));
    return out;
  }
  const types = [].concat(schema.type || 'any JSON');
  if (types.includes('array')) return el('span', {}, 'array of ', typeOf(schema.items));
  if (types.includes('object') && typeof schema.additionalProperties === 'object' && !schema.properties) {
    return el('span', {}, 'map of ', typeOf(schema.additionalProperties));
  }
  return el('span', {}, types.join(' or ') + (schema.format ? ' (' + schema.format + ')' : ''));
}

// rulesOf describes what bounds a value.
function rulesOf(schema) {
  const rules = [];
  const rule = (key, words) => { if (schema[key] !== undefined) rules.push(words + ' ' + schema[key]); };
  rule('minimum', 'at least');
  rule('maximum', 'at most');
  rule('minLength', 'characters, at least');
  rule('maxLength', 'characters, at most');
  rule('minItems', 'items, at least');
  rule('maxItems', 'items, at most');
  rule('default', 'defaults to');
  if (schema.enum) rules.push('one of ' + schema.enum.join(', '));
  return rules.length ? rules.join('; ') + '.' : '';
}

function table(heads, rows) {
  const head = el('tr', {}, ...heads.map((h) => el('th', {scope: 'col'}, h)));
  const body = rows.map((row) => {
    const attributes = row.id ? {id: row.id} : {};
    return el('tr', attributes, ...row.cells.map((cell) => el('td', {}, cell)));
  });
  return el('table', {}, el('thead', {}, head), el('tbody', {}, ...body));
}

const describe = (s) => [s.description, rulesOf(s)].filter(Boolean).join(' ');

function properties(schema) {
  const required = schema.required || [];
  return table(['Name', 'Type', 'Meaning'], Object.entries(schema.properties || {}).map(([name, s]) => ({
    cells: [el('code', {}, name + (required.includes(name) ? ' *' : '')), typeOf(s), describe(s)],
  })));
}

function operation(method, path, op) {
  const box = el('details', {id: op.operationId},
    el('summary', {}, el('code', {class: 'method'}, method.toUpperCase()), el('code', {}, path), el('span', {}, op.summary || '')),
    el('p', {}, op.description || ''));
  if (op.parameters) {
    box.append(el('h4', {}, 'Parameters'), table(['Name', 'In', 'Type', 'Meaning'], op.parameters.map((p) => ({
      cells: [el('code', {}, p.name + (p.required ? ' *' : '')), p.in, typeOf(p.schema), describe(p.schema)],
    }))));
  }
  if (op.requestBody) {
    box.append(el('h4', {}, 'Body'));
    for (const [type, media] of Object.entries(op.requestBody.content)) {
      box.append(el('p', {}, el('code', {}, type), ': ', typeOf(media.schema)));
    }
  }
  box.append(el('h4', {}, 'Answers'));
  for (const [status, response] of Object.entries(op.responses)) {
    const line = el('p', {}, el('code', {}, status), ' ', response.description + ' ');
    for (const media of Object.values(response.content || {})) line.append(typeOf(media.schema));
    box.append(line);
  }
  return box;
}

function show(doc) {
  const main = document.getElementById('main');
  const contents = el('ul');
  document.getElementById('about').textContent = doc.info.description;
  document.getElementById('contents').append(contents);
  for (const tag of doc.tags) {
    main.append(el('h2', {id: 'tag-' + tag.name}, tag.name), el('p', {}, tag.description || ''));
    for (const [path, item] of Object.entries(doc.paths)) {
      for (const method of METHODS) {
        const op = item[method];
        if (!op || !(op.tags || []).includes(tag.name)) continue;
        main.append(operation(method, path, op));
        contents.append(el('li', {}, el('a', {href: '#' + op.operationId}, op.summary)));
      }
    }
  }
  main.append(el('h2', {id: 'problems'}, 'problems'), table(['Code', 'Status', 'Meaning'],
    doc['x-problems'].map((p) => ({id: p.code, cells: [el('code', {}, p.code), String(p.status), p.meaning]}))));
  main.append(el('h2', {id: 'schemas'}, 'schemas'), el('p', {}, '* is required.'));
  for (const [name, schema] of Object.entries(doc.components.schemas)) {
    main.append(el('h3', {id: 'schema-' + name}, name), properties(schema));
  }
}

// reveal opens and shows what the address names, which did not exist when the
// browser looked for it first.
function reveal() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!target) return;
  if (target.tagName === 'DETAILS') target.open = true;
  target.scrollIntoView();
}

fetch('/openapi.json')
  .then((response) => { if (!response.ok) throw new Error('status ' + response.status); return response.json(); })
  .then((doc) => { show(doc); reveal(); window.addEventListener('hashchange', reveal); })
  .catch((error) => { document.getElementById('about').textContent = 'The document could not be loaded: ' + error.message; });
