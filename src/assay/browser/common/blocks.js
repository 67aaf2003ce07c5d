// The data blocks of a page: gzip in base64 in inert script elements, unpacked when they are asked for.

const unpackedBlocks = new Map();

/** Tell whether the page has a block. */
export function hasBlock(name) {
  return document.getElementById(`data-${name}`) !== null;
}

/** Unpack a block, once; null where the page does not have it. */
export function blockBytes(name) {
  if (!unpackedBlocks.has(name)) unpackedBlocks.set(name, unpackBlock(name));
  return unpackedBlocks.get(name);
}

/** Read a block of JSON; null where the page does not have it. */
export async function blockJson(name) {
  const bytes = await blockBytes(name);
  return bytes && JSON.parse(new TextDecoder().decode(bytes));
}

/** Unpack the text of a block. */
async function unpackBlock(name) {
  const element = document.getElementById(`data-${name}`);
  if (!element) return null;
  const stream = new Blob([fromBase64(element.textContent)]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** Turn base64 into bytes, by the browser's own means where it has them. */
function fromBase64(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const letters = atob(text);
  const bytes = new Uint8Array(letters.length);
  for (let place = 0; place < letters.length; place += 1) bytes[place] = letters.charCodeAt(place);
  return bytes;
}
