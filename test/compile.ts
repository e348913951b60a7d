import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { pathToFileURL } from "node:url";
import { build, type Plugin } from "esbuild";
import { bundleConsole } from "../build/console.ts";
import { runProgram } from "./support/foreign/program.ts";
import { programs } from "./support/program.ts";

const root = join(import.meta.dirname, "..");
const usesPackage = "test/support/shipped.ts";
const usesTarball = "test/support/tarball.ts";

/**
 * Packages that are shipped. They are bundled here too, because Node loads hundreds of small files slowly. Other
 * packages stay external.
 */
const shipped =
  /^(@bomb\.sh\/tab|@inquirer\/prompts|chalk|commander|cross-spawn|csv-parse|fast-string-width|fastify|jose|lowdb|mime-types|ora|pdfjs-dist|undici|yaml|zod|@cantoo\/pdf-lib)(\/|$)/;

/**
 * Compiles groups of test files, and the programs that tests start, into a folder below the project. Otherwise, most of
 * the time of many small test files would be the start of Node and repeated compilation. Files are identified by their
 * paths below `test`. Returns the files to pass to Node's runner, one per group.
 */
export async function compileTests(groups: ReadonlyMap<string, readonly string[]>, folder: string): Promise<string[]> {
  const { metafile } = await build({
    absWorkingDir: root,
    outdir: folder,
    entryPoints: [
      ...[...groups.keys()].map((name) => ({ in: `group:${name}`, out: name })),
      ...Object.entries(programs).map(([name, path]) => ({ in: join(root, path), out: name })),
    ],
    // All files are in one folder, as in the shipped bundle, because the emulator looks for the PDF process in its own
    // folder.
    chunkNames: "[name]-[hash]",
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node20.19",
    sourcemap: "linked",
    sourcesContent: false,
    // CommonJS packages inside an ES module use require.
    banner: {
      js: 'import { createRequire as ownRequire } from "node:module";const require = ownRequire(import.meta.url);',
    },
    metafile: true,
    logLevel: "warning",
    plugins: [createGroupsPlugin(groups), packagesOutside, testsKnowTheirSources],
  });
  cpSync(join(root, "fixtures/scenarios/tour.yaml"), join(folder, "scenarios/tour.yaml"));
  await Promise.all([
    usesTarball in metafile.inputs ? packInto(folder) : usesPackage in metafile.inputs && makePackage(folder),
    // The emulator also looks for the console in its own folder.
    bundleConsole(join(folder, "console")).then((metafile) =>
      writeFileSync(join(folder, "console.json"), JSON.stringify(metafile)),
    ),
  ]);
  return [...groups.keys()].map((name) => join(folder, `${name}.js`));
}

const createGroupsPlugin = (groups: ReadonlyMap<string, readonly string[]>): Plugin => ({
  name: "groups",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^group:/ }, ({ path }) => ({ path: path.slice("group:".length), namespace: "group" }));
    onLoad({ filter: /.*/, namespace: "group" }, ({ path }) => ({
      contents: ["returned-failures.ts", ...groups.get(path)!]
        .map((file) => `import ${JSON.stringify(join(import.meta.dirname, file))};\n`)
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

/** Tests read fixtures and other tests relative to their source files. */
const testsKnowTheirSources: Plugin = {
  name: "tests-know-their-sources",
  setup({ onLoad }) {
    onLoad({ filter: /\.ts$/ }, ({ path }) => {
      if (/^(src|emulator|node_modules)[/\\]/.test(relative(root, path))) return undefined;
      const contents = readFileSync(path, "utf8")
        // Quoted text is a name that `build/build.ts` passes to the bundler.
        .replaceAll(/(?<!")import\.meta\.url/g, JSON.stringify(pathToFileURL(path).href))
        .replaceAll(/(?<!")import\.meta\.dirname/g, JSON.stringify(dirname(path)));
      return { contents, loader: "ts" };
    });
  },
};

/** Creates the shipped files in the layout of an installed package. */
async function makePackage(folder: string): Promise<void> {
  const { bundle } = await import("../build/build.ts");
  for (const part of ["bin", "package.json"]) {
    cpSync(join(root, part), join(folder, "package", part), { recursive: true });
  }
  const metafile = await bundle(join(folder, "package", "dist"));
  writeFileSync(join(folder, "metafile.json"), JSON.stringify(metafile));
}

/**
 * Packs the package and stores the output of npm. Unpacks it as an installed package too, so that one build is enough
 * for both.
 */
async function packInto(folder: string): Promise<void> {
  const env = { SVC_BUILD_METAFILE: join(folder, "metafile.json") };
  const output = await runProgram("npm", ["pack", "--json", "--pack-destination", folder], { cwd: root, env });
  // The build prints text before the JSON.
  const [packed] = JSON.parse(output.slice(output.indexOf("[\n"))) as [{ readonly filename: string }];
  writeFileSync(join(folder, "tarball.json"), JSON.stringify(packed));
  const packageFolder = join(folder, "package");
  mkdirSync(packageFolder);
  await runProgram("tar", ["-xzf", packed.filename, "-C", packageFolder, "--strip-components", "1"], { cwd: folder });
}
