// A table of columns as report/explorer/packing.py writes it: a head in JSON, then numbers one behind the other.

/** Read a table: {head, columns: {name: Uint32Array | Float32Array}}. */
export function readColumns(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const length = view.getUint32(0, true);
  const head = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + length)));
  const columns = {};
  let at = 4 + length;
  for (const [name, kind, count, size] of head.columns) {
    const part = bytes.subarray(at, at + size);
    columns[name] = kind === "varint" ? readVarints(part, count) : readFloats(part, count);
    at += size;
  }
  return { head, columns };
}

/** Give where the part of each begins, from how long each is; one more at the end. */
export function beginnings(counts) {
  const starts = new Uint32Array(counts.length + 1);
  for (let place = 0; place < counts.length; place += 1) starts[place + 1] = starts[place] + counts[place];
  return starts;
}

/** Read unsigned LEB128 numbers: seven bits a byte, lowest first. */
function readVarints(bytes, count) {
  const numbers = new Uint32Array(count);
  let at = 0;
  for (let place = 0; place < count; place += 1) {
    let value = 0;
    let scale = 1;
    for (; bytes[at] >= 128; at += 1, scale *= 128) value += (bytes[at] - 128) * scale;
    numbers[place] = value + bytes[at] * scale;
    at += 1;
  }
  return numbers;
}

/** Read floats whose bytes lie apart: all lowest bytes first. */
function readFloats(bytes, count) {
  const mixed = new Uint8Array(4 * count);
  for (let byte = 0; byte < 4; byte += 1) {
    for (let place = 0; place < count; place += 1) mixed[4 * place + byte] = bytes[byte * count + place];
  }
  return new Float32Array(mixed.buffer);
}
