// The page of the preview: a form with the parameters, and the text, each piece of which knows where it comes from.

const api = acquireVsCodeApi();
const form = document.getElementById('values');
const text = document.getElementById('text');
let prompt;
let typed = {};
/** Where the cursor of the editor is: a file and a line. */
let cursor = {};

function element(name, content, kind) {
  const made = document.createElement(name);
  made.textContent = content;
  if (kind) made.className = kind;
  return made;
}

function sendValues() {
  const values = {};
  for (const [name, value] of Object.entries(typed)) {
    if (value === '') continue;
    try {
      values[name] = JSON.parse(value);
    } catch {
      values[name] = value;
    }
  }
  api.postMessage({ prompt, values });
}

function showForm(parameters) {
  const names = parameters.map((parameter) => parameter.name).join(' ');
  if (form.dataset.names === `${prompt} ${names}`) return;
  form.dataset.names = `${prompt} ${names}`;
  form.replaceChildren();
  for (const parameter of parameters) {
    const label = element('label', `${parameter.name}${parameter.required ? '*' : ''} `);
    const input = document.createElement('input');
    input.name = parameter.name;
    input.type = parameter.secret ? 'password' : 'text';
    input.placeholder = parameter.default == null ? parameter.type : JSON.stringify(parameter.default);
    input.title = parameter.description || '';
    input.value = typed[parameter.name] || '';
    input.addEventListener('input', () => {
      typed[parameter.name] = input.value;
      sendValues();
    });
    label.append(input);
    form.append(label);
  }
}

/** The place of a piece, as rows of the map have it. */
function placeOf(map, number) {
  const row = map.places[number];
  return row && { file: map.files[row[0]].file, line: row[3], column: row[4] };
}

/** The variables behind a piece: a value, or the inputs of a derived text. */
function variablesOf(map, kind, of) {
  if (of < 0 || kind === 'frame') return [];
  const inputs = kind === 'derived' ? map.inputs[of] : [of];
  return (inputs || []).map((input) => (typeof input === 'number' ? map.values[input] : input)).filter(Boolean);
}

function describeVariable(variable) {
  if (typeof variable === 'string') return variable;
  if (variable.tool) return `${variable.tool}()`;
  const path = variable.path || variable.variable || '?';
  return variable.layer ? `${path} (${variable.layer})` : path;
}

/** What a piece is, in lines: its kind, its variables, its place, and the steps on the way. */
function describePiece(map, [, kindNumber, place, via, of]) {
  const kind = map.kinds[kindNumber];
  const lines = [kind, ...variablesOf(map, kind, of).map(describeVariable)];
  const at = placeOf(map, place);
  if (at) lines.push(`${at.file}:${at.line}:${at.column}`);
  for (let number = via, step; (step = map.via[number]); number = step.parent) {
    const from = placeOf(map, step.place);
    const name = step.turn === undefined || step.turn === null ? step.name || '' : step.turn;
    lines.push(`${step.kind} ${name}${from ? ` at ${from.file}:${from.line}` : ''}`);
  }
  return lines.join('\n');
}

/** A text in pieces. Lengths count UTF-16 units, as strings here do. */
function showPieces(map, { text: whole, spans }) {
  const made = element('pre', '');
  let start = 0;
  for (const span of spans) {
    const piece = element('span', whole.slice(start, start + span[0]), map.kinds[span[1]]);
    start += span[0];
    piece.title = describePiece(map, span);
    const place = placeOf(map, span[2]);
    if (place) {
      piece.classList.add('placed');
      [piece.dataset.file, piece.dataset.line] = [place.file, place.line];
      piece.addEventListener('click', () => api.postMessage({ open: place }));
    }
    made.append(piece);
  }
  return made;
}

/** Marks what the line of the cursor wrote. */
function markCursor() {
  for (const piece of text.querySelectorAll('.placed')) {
    piece.classList.toggle('here', piece.dataset.file === cursor.file && Number(piece.dataset.line) === cursor.line);
  }
}

function showContent(content) {
  return element('pre', typeof content === 'string' ? content : JSON.stringify(content, null, 2));
}

function showBody({ body, map }) {
  const messages = Array.isArray(body) ? body : [{ content: body }];
  messages.forEach((message, number) => {
    if (message.role) text.append(element('div', message.role, 'role'));
    const pieces = map ? map.texts.filter((part) => part.message === null || part.message === number) : [];
    const parts = Array.isArray(message.content) ? message.content : [];
    const others = parts.filter((part) => part.type !== 'text');
    if (pieces.length === 0 && others.length === 0) text.append(showContent(message.content));
    pieces.forEach((part) => text.append(showPieces(map, part)));
    others.forEach((part) => text.append(showContent(part)));
  });
}

form.addEventListener('submit', (event) => event.preventDefault());
window.addEventListener('message', ({ data }) => {
  if (data.cursor) {
    cursor = data.cursor;
    markCursor();
    return;
  }
  if (data.prompt !== prompt) {
    prompt = data.prompt;
    typed = {};
  }
  showForm(data.parameters || []);
  text.replaceChildren();
  if (data.error) {
    text.append(element('p', data.error.message, 'error'));
    if (data.error.hint) text.append(element('p', data.error.hint));
    return;
  }
  showBody(data);
  markCursor();
});
api.postMessage({ ready: true });
