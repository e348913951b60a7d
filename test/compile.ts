import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { pathToFileURL } from "node:url";
import { build, type Plugin } from "esbuild";
import { programs } from "./support/program.ts";

const here = import.meta.dirname;
const root = join(here, "..");
const usesPackage = "test/support/shipped.ts";

/** Files of a folder share a process, which is warm after the first; few enough that no processor waits at the end. */
const filesPerProcess = 8;

/** Packages that ship: bundled here, too, since Node takes long to load hundreds of small files. Others stay outside. */
const shipped =
  /^(@bomb\.sh\/tab|@inquirer\/prompts|chalk|commander|cross-spawn|csv-parse|fast-string-width|fastify|jose|lowdb|mime-types|ora|pdfjs-dist|undici|zod|@cantoo\/pdf-lib)(\/|$)/;

/**
 * Compiles test files, and the programs that tests start, into a folder below the project's own: most of the time that
 * a suite of so many small files takes is else spent on starting Node and on translating the same modules.
 * Returns the files to hand to Node's runner; each runs several files of one folder.
 */
export async function compileTests(files: readonly string[], folder: string): Promise<string[]> {
  const groups = grouped(files);
  const { metafile } = await build({
    absWorkingDir: root,
    outdir: folder,
    entryPoints: [
      ...[...groups.keys()].map((name) => ({ in: `group:${name}`, out: name })),
      ...Object.entries(programs).map(([name, path]) => ({ in: join(root, path), out: name })),
    ],
    // All in one folder, as in the bundle that ships: the emulator finds the process that reads PDFs beside itself.
    chunkNames: "[name]-[hash]",
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node20.19",
    sourcemap: "linked",
    sourcesContent: false,
    // Packages of CommonJS inside an ES module call require.
    banner: {
      js: 'import { createRequire as ownRequire } from "node:module";const require = ownRequire(import.meta.url);',
    },
    metafile: true,
    logLevel: "warning",
    plugins: [groupsOf(groups), packagesOutside, testsKnowTheirSources],
  });
  if (usesPackage in metafile.inputs) await makePackage(folder);
  return [...groups.keys()].map((name) => join(folder, `${name}.js`));
}

/** Files by the names of their groups, as `emulator.store.file-2`. */
function grouped(files: readonly string[]): ReadonlyMap<string, readonly string[]> {
  const groups = new Map<string, string[]>();
  const counts = new Map<string, number>();
  for (const file of files) {
    const folder = relative(here, dirname(file));
    const count = counts.get(folder) ?? 0;
    counts.set(folder, count + 1);
    const name = `${folder.replaceAll(sep, ".")}-${Math.floor(count / filesPerProcess) + 1}`;
    groups.set(name, [...(groups.get(name) ?? []), file]);
  }
  return groups;
}

const groupsOf = (groups: ReadonlyMap<string, readonly string[]>): Plugin => ({
  name: "groups",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^group:/ }, ({ path }) => ({ path: path.slice("group:".length), namespace: "group" }));
    onLoad({ filter: /.*/, namespace: "group" }, ({ path }) => ({
      contents: groups
        .get(path)!
        .map((file) => `import ${JSON.stringify(file)};\n`)
        .join(""),
      resolveDir: root,
    }));
  },
});

const packagesOutside: Plugin = {
  name: "packages-outside",
  setup({ onResolve }) {
    onResolve({ filter: /^[^./]/ }, ({ path, importer }) => {
      const isOurs = importer !== "" && !importer.includes(`${sep}node_modules${sep}`);
      return isOurs && !path.startsWith("node:") && !shipped.test(path) ? { path, external: true } : undefined;
    });
  },
};

/** Tests read fixtures, and each other, beside themselves. */
const testsKnowTheirSources: Plugin = {
  name: "tests-know-their-sources",
  setup({ onLoad }) {
    onLoad({ filter: /\.ts$/ }, ({ path }) => {
      if (/^(src|emulator|node_modules)[/\\]/.test(relative(root, path))) return undefined;
      const contents = readFileSync(path, "utf8")
        // What stands in quotes is a name: `build.ts` has it for the bundler.
        .replaceAll(/(?<!")import\.meta\.url/g, JSON.stringify(pathToFileURL(path).href))
        .replaceAll(/(?<!")import\.meta\.dirname/g, JSON.stringify(dirname(path)));
      return { contents, loader: "ts" };
    });
  },
};

/** What ships, as an installed package has it. */
async function makePackage(folder: string): Promise<void> {
  const { bundle } = await import("../build.ts");
  for (const part of ["bin", "package.json"]) {
    cpSync(join(root, part), join(folder, "package", part), { recursive: true });
  }
  const metafile = await bundle(join(folder, "package", "dist"));
  writeFileSync(join(folder, "metafile.json"), JSON.stringify(metafile));
}
