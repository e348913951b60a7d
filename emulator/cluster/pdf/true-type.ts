interface Glyph {
  readonly id: number;
  readonly codePoints: number[];
  readonly advanceWidth: number;
}

/** Unicode blocks of the characters that documents can show: Latin, Greek, Cyrillic, and punctuation. */
const coveredBlocks: readonly (readonly [first: number, last: number])[] = [
  [0x0020, 0x007e],
  [0x00a0, 0x024f],
  [0x02b0, 0x052f],
  [0x1e00, 0x1fff],
  [0x2010, 0x2027],
  [0x2030, 0x205e],
  [0x2070, 0x22ff],
];

const isCovered = (codePoint: number): boolean =>
  coveredBlocks.some(([first, last]) => codePoint >= first && codePoint <= last);

/** Has the interface that pdf-lib expects of a font, by ISO/IEC 14496-22 (ARCHITECTURE.md, Written by hand). */
export class TrueTypeFont {
  readonly #bytes: Buffer;
  readonly #tables = new Map<string, Buffer>();
  readonly #glyphs = new Map<number, Glyph>();
  readonly postscriptName: string;
  readonly unitsPerEm: number;
  readonly ascent: number;
  readonly descent: number;
  readonly italicAngle = 0;
  readonly capHeight: number;
  readonly xHeight = 0;
  readonly bbox: { minX: number; minY: number; maxX: number; maxY: number; width: number; height: number };

  constructor(bytes: Uint8Array, postscriptName = "Font") {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.postscriptName = postscriptName;
    for (let at = 12, end = 12 + 16 * this.#bytes.readUInt16BE(4); at < end; at += 16) {
      const offset = this.#bytes.readUInt32BE(at + 8);
      const table = this.#bytes.subarray(offset, offset + this.#bytes.readUInt32BE(at + 12));
      this.#tables.set(this.#bytes.toString("latin1", at, at + 4), table);
    }
    const [head, hhea] = [this.getTable("head"), this.getTable("hhea")];
    this.unitsPerEm = head.readUInt16BE(18);
    const [minX, minY] = [head.readInt16BE(36), head.readInt16BE(38)];
    const [maxX, maxY] = [head.readInt16BE(40), head.readInt16BE(42)];
    this.bbox = { minX, minY, maxX, maxY, width: maxX - minX, height: maxY - minY };
    this.ascent = hhea.readInt16BE(4);
    this.descent = hhea.readInt16BE(6);
    this.capHeight = this.ascent;
    for (const [codePoint, id] of listGlyphIds(this.getTable("cmap"))) {
      if (!isCovered(codePoint)) continue;
      const advanceWidth = this.getMetrics(id).readUInt16BE(0);
      this.#glyphs.set(codePoint, { id, codePoints: [codePoint], advanceWidth });
    }
  }

  get characterSet(): number[] {
    return [...this.#glyphs.keys()];
  }

  has(codePoint: number): boolean {
    return this.#glyphs.has(codePoint);
  }

  glyphForCodePoint(codePoint: number): Glyph | null {
    return this.#glyphs.get(codePoint) ?? null;
  }

  /** The caller must have replaced characters that the font does not have. */
  layout(text: string): { glyphs: Glyph[] } {
    return { glyphs: [...text].map((character) => this.#glyphs.get(character.codePointAt(0)!)!) };
  }

  createSubset(): FontSubset {
    return new FontSubset(this);
  }

  getTable(tag: string): Buffer {
    return this.#tables.get(tag) ?? Buffer.alloc(0);
  }

  /** Returns the outline of a glyph, which is empty for a space. */
  getOutline(id: number): Buffer {
    const loca = this.getTable("loca");
    const isLong = this.getTable("head").readInt16BE(50) === 1;
    const readOffset = (at: number) => (isLong ? loca.readUInt32BE(4 * at) : 2 * loca.readUInt16BE(2 * at));
    return this.getTable("glyf").subarray(readOffset(id), readOffset(id + 1));
  }

  /** Returns four bytes of `hmtx`: the width and the side bearing. */
  getMetrics(id: number): Buffer {
    const [count, hmtx] = [this.getTable("hhea").readUInt16BE(34), this.getTable("hmtx")];
    if (id < count) return hmtx.subarray(4 * id, 4 * id + 4);
    const bearing = 4 * count + 2 * (id - count);
    return Buffer.concat([hmtx.subarray(4 * count - 4, 4 * count - 2), hmtx.subarray(bearing, bearing + 2)]);
  }
}

/** Reads the first Unicode table in segments (format 4), which all current fonts have. */
function* listGlyphIds(cmap: Buffer): Generator<[codePoint: number, id: number]> {
  const tables = Array.from({ length: cmap.readUInt16BE(2) }, (_, at) => cmap.subarray(cmap.readUInt32BE(8 + 8 * at)));
  const table = tables.find((each) => each.readUInt16BE(0) === 4);
  if (!table) throw new Error("The font has no character map in segments");
  const size = table.readUInt16BE(6);
  const [ends, starts, deltas, offsets] = [14, 16 + size, 16 + 2 * size, 16 + 3 * size];
  for (let at = 0; at < size; at += 2) {
    const read = (from: number) => table.readUInt16BE(from + at);
    const [end, start, delta, offset] = [read(ends), read(starts), read(deltas), read(offsets)];
    for (let code = start; code <= end && code !== 0xffff; code += 1) {
      const glyph = offset === 0 ? code : table.readUInt16BE(offsets + at + offset + 2 * (code - start));
      const id = glyph === 0 ? 0 : (glyph + delta) & 0xffff;
      if (id !== 0) yield [code, id];
    }
  }
}

class FontSubset {
  readonly #font: TrueTypeFont;
  /** Glyphs of the font in the order of their new IDs. The first glyph replaces missing characters. */
  readonly #ids = [0];
  readonly #newIds = new Map([[0, 0]]);

  constructor(font: TrueTypeFont) {
    this.#font = font;
  }

  includeGlyph(glyph: number | Glyph): number {
    const id = typeof glyph === "number" ? glyph : glyph.id;
    const newId = this.#newIds.get(id);
    if (newId !== undefined) return newId;
    this.#newIds.set(id, this.#ids.length);
    return this.#ids.push(id) - 1;
  }

  /** `cmap` maps characters to glyphs. It is needed if the subset must be readable as a font. */
  encode(cmap?: Buffer): Uint8Array {
    const outlines: Buffer[] = [];
    // The parts of composite glyphs are appended during the loop.
    for (let at = 0; at < this.#ids.length; at += 1)
      outlines.push(this.#withNewParts(this.#font.getOutline(this.#ids[at]!)));
    const count = this.#ids.length;
    const loca = Buffer.alloc(4 * (count + 1));
    let end = 0;
    for (const [at, outline] of outlines.entries()) {
      end += outline.length;
      loca.writeUInt32BE(end, 4 * (at + 1));
    }
    const copy = (tag: string) => Buffer.from(this.#font.getTable(tag));
    const [head, hhea, maxp] = [copy("head"), copy("hhea"), copy("maxp")];
    head.writeUInt32BE(0, 8);
    head.writeInt16BE(1, 50);
    hhea.writeUInt16BE(count, 34);
    maxp.writeUInt16BE(count, 4);
    const hmtx = Buffer.concat(this.#ids.map((id) => this.#font.getMetrics(id)));
    const copiedTables = ["cvt ", "fpgm", "prep"].map((tag) => [tag, this.#font.getTable(tag)] as const);
    const glyf = Buffer.concat(outlines);
    const tables = { ...Object.fromEntries(copiedTables), ...(cmap && { cmap }), glyf, head, hhea, hmtx, loca, maxp };
    return buildFontFile(tables);
  }

  /** Returns an outline, padded to an even length. Composite glyphs get the new IDs of their parts. */
  #withNewParts(outline: Buffer): Buffer {
    const copy = Buffer.alloc(outline.length + (outline.length & 1));
    outline.copy(copy);
    if (outline.length === 0 || outline.readInt16BE(0) >= 0) return copy;
    for (let at = 10, hasMore = true; hasMore; ) {
      const flags = copy.readUInt16BE(at);
      copy.writeUInt16BE(this.includeGlyph(copy.readUInt16BE(at + 2)), at + 2);
      at += 4 + (flags & 0x1 ? 4 : 2) + (flags & 0x8 ? 2 : flags & 0x40 ? 4 : flags & 0x80 ? 8 : 0);
      hasMore = (flags & 0x20) !== 0;
    }
    return copy;
  }
}

function buildFontFile(tables: Readonly<Record<string, Buffer>>): Buffer {
  const entries = Object.entries(tables)
    .filter(([, table]) => table.length > 0)
    .sort(([a], [b]) => (a < b ? -1 : 1));
  const head = Buffer.alloc(12 + 16 * entries.length);
  const power = Math.floor(Math.log2(entries.length));
  head.writeUInt32BE(0x00010000);
  head.writeUInt16BE(entries.length, 4);
  head.writeUInt16BE(16 * 2 ** power, 6);
  head.writeUInt16BE(power, 8);
  head.writeUInt16BE(16 * (entries.length - 2 ** power), 10);
  const parts = [head];
  let offset = head.length;
  for (const [at, [tag, table]] of entries.entries()) {
    const paddedTable = Buffer.alloc(Math.ceil(table.length / 4) * 4);
    table.copy(paddedTable);
    head.write(tag, 12 + 16 * at, "latin1");
    head.writeUInt32BE(sumWords(paddedTable), 16 + 16 * at);
    head.writeUInt32BE(offset, 20 + 16 * at);
    head.writeUInt32BE(table.length, 24 + 16 * at);
    parts.push(paddedTable);
    offset += paddedTable.length;
  }
  const file = Buffer.concat(parts);
  // The font header adjusts the checksum of the whole file, which is computed while the adjustment is 0.
  const header = entries.findIndex(([tag]) => tag === "head");
  file.writeUInt32BE((0xb1b0afba - sumWords(file)) >>> 0, file.readUInt32BE(20 + 16 * header) + 8);
  return file;
}

function sumWords(padded: Buffer): number {
  let sum = 0;
  for (let word = 0; word < padded.length; word += 4) sum = (sum + padded.readUInt32BE(word)) >>> 0;
  return sum;
}

/** Returns the font with only the glyphs of the covered blocks, which saves a third of a megabyte per font. */
export function reduceFont(bytes: Uint8Array): Uint8Array {
  const font = new TrueTypeFont(bytes);
  const subset = font.createSubset();
  const characters = font.characterSet.sort((a, b) => a - b);
  const ids = characters.map((codePoint) => subset.includeGlyph(font.glyphForCodePoint(codePoint)!));
  return subset.encode(buildCharacterMap(characters, ids));
}

/** Each character has a segment (format 4). The map is only read once, so its size does not matter. */
function buildCharacterMap(characters: readonly number[], ids: readonly number[]): Buffer {
  const count = characters.length + 1;
  const map = Buffer.alloc(12 + 16 + 8 * count);
  for (const [at, value] of [0, 1, 3, 1, 0, 12].entries()) map.writeUInt16BE(value, 2 * at);
  map.writeUInt16BE(4, 12);
  map.writeUInt16BE(Math.min(map.length - 12, 0xffff), 14);
  map.writeUInt16BE(2 * count, 18);
  const [ends, starts, deltas] = [26, 28 + 2 * count, 28 + 4 * count];
  for (const [at, code] of [...characters, 0xffff].entries()) {
    map.writeUInt16BE(code, ends + 2 * at);
    map.writeUInt16BE(code, starts + 2 * at);
    map.writeUInt16BE(((ids[at] ?? 0) - code) & 0xffff, deltas + 2 * at);
  }
  return map;
}
