// Prepares the globals of the process that reads PDFs. This module must be imported before pdfjs-dist.

type Constructor = new (...args: unknown[]) => object;
const globals = globalThis as unknown as Record<string, Constructor>;

// The parser warns if the drawing classes of a browser are missing when it loads. Nothing is drawn here.
for (const name of ["DOMMatrix", "ImageData", "Path2D"]) globals[name] ??= class {};

const { log } = console;
console.log = () => {};

/** console.log is replaced while the parser loads, which hides a warning about the missing canvas package. */
export const restoreConsole = (): void => {
  console.log = log;
};
