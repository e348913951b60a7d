/** What is before the letters of a text in a page: its length, with a mark for two bytes a letter. Never 0. */
const isWide = 1;
const kindOf = (length: number, wide: boolean): number => (((length + 1) << 1) | (wide ? isWide : 0)) >>> 0;
const bytesOf = (kind: number): number => ((kind >>> 1) - 1) * (kind & isWide ? 2 : 1);

/** Words that its letters take. */
export const wordsOf = (kind: number): number => (bytesOf(kind) + 3) >>> 2;

/** The text whose letters begin at a byte. */
export const textAt = (bytes: Buffer, begin: number, kind: number): string =>
  bytes.toString(kind & isWide ? "utf16le" : "latin1", begin, begin + bytesOf(kind));

/** More than this is given back when it is no longer needed. */
const roomKept = 1 << 20;

/**
 * Texts as they lie in the pages of a PackedMap: ASCII with one byte a letter, others with two; whole words, the last
 * one filled up with zeros. Many are packed faster than one after the other, since they are encoded as one.
 */
export class PackedTexts {
  kinds = new Uint32Array(1);
  hashes = new Uint32Array(1);
  /** Where the letters of each begin in `words`. */
  begins = new Uint32Array(1);
  words = new Uint32Array(0);
  #bytes = Buffer.alloc(0);
  #view = new DataView(this.#bytes.buffer);

  pack(texts: readonly string[]): void {
    const all = texts.length === 1 ? texts[0]! : texts.join("");
    this.#makeRoom(texts.length, all.length);
    const areAscii = this.#bytes.write(all) === all.length;
    let from = 0;
    let begin = 0;
    for (let i = 0; i < texts.length; i += 1) {
      const text = texts[i]!;
      const wide = !areAscii && this.#bytes.write(text, from) !== text.length;
      if (wide) this.#bytes.write(text, from, "utf16le");
      const kind = kindOf(text.length, wide);
      this.kinds[i] = kind;
      this.begins[i] = begin;
      this.hashes[i] = this.#take(from, kind, begin);
      from += bytesOf(kind);
      begin += wordsOf(kind);
    }
  }

  /** Copies letters into words, and hashes them: Fibonacci hashing, mixed as MurmurHash3 ends. */
  #take(from: number, kind: number, begin: number): number {
    const words = this.words;
    const view = this.#view;
    const length = bytesOf(kind);
    const whole = length >>> 2;
    let hash = kind;
    for (let i = 0; i < whole; i += 1) {
      const word = view.getUint32(from + 4 * i, true);
      words[begin + i] = word;
      hash = Math.imul(hash ^ word, 0x9e3779b1);
      hash ^= hash >>> 15;
    }
    if (length & 3) {
      const word = view.getUint32(from + 4 * whole, true) & ((1 << (8 * (length & 3))) - 1);
      words[begin + whole] = word;
      hash = Math.imul(hash ^ word, 0x9e3779b1);
    }
    hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
    hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
    return (hash ^ (hash >>> 16)) >>> 0;
  }

  #makeRoom(count: number, letters: number): void {
    // Whatever fills more bytes than it has letters finds room to do so.
    const bytes = 2 * letters + 8;
    if (this.#bytes.length < bytes || this.#bytes.length > Math.max(bytes, roomKept)) {
      this.#bytes = Buffer.alloc(bytes);
      this.#view = new DataView(this.#bytes.buffer, this.#bytes.byteOffset);
      this.words = new Uint32Array(0);
    }
    const words = (bytes >>> 2) + count;
    if (this.words.length < words) this.words = new Uint32Array(words);
    if (this.kinds.length >= count) return;
    this.kinds = new Uint32Array(count);
    this.hashes = new Uint32Array(count);
    this.begins = new Uint32Array(count);
  }
}
