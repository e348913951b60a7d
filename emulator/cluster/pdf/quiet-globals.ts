/**
 * Must be imported before pdfjs-dist: as it loads, it looks for drawing classes of a browser and complains on the
 * console where it finds none. Nothing is drawn here, so empty classes do, and the complaint about the missing canvas
 * package (console.log, before any setting of ours can reach it) is held back until `speak` is called.
 */
const globals = globalThis as Record<string, unknown>;
for (const name of ["DOMMatrix", "ImageData", "Path2D"]) globals[name] ??= class {};

const { log } = console;
console.log = () => {};

export const restoreConsole = (): void => {
  console.log = log;
};
