import { join } from "node:path";
import { writeFileAtomic } from "../../files/atomic-write.ts";
import { makeFolder } from "../../files/make-folder.ts";
import type { CheckedItem } from "./run.ts";

/**
 * Writes what checks sent into a folder: the body of each delivery as `<check>.json`, or `<check>-2.json` for the second
 * one, and its headers beside it. The files of another run are replaced.
 */
export class SentFiles {
  readonly #folder: string;
  readonly #files = new Map<string, string[]>();

  private constructor(folder: string) {
    this.#folder = folder;
  }

  static async open(folder: string): Promise<SentFiles> {
    await makeFolder(folder);
    return new SentFiles(folder);
  }

  async add({ check, exchanges }: CheckedItem): Promise<void> {
    const files: string[] = [];
    for (const [i, { delivery }] of exchanges.entries()) {
      const path = join(this.#folder, i === 0 ? check.id : `${check.id}-${i + 1}`);
      const headers = delivery.headers.map(([name, value]) => `${name}: ${value}\n`).join("");
      await writeFileAtomic(`${path}.headers`, headers, notDurable);
      await writeFileAtomic(`${path}.json`, delivery.body, notDurable);
      files.push(`${path}.json`);
    }
    this.#files.set(check.id, files);
  }

  of(id: string): readonly string[] {
    return this.#files.get(id) ?? [];
  }
}

const notDurable = { durable: false };
