/**
 * Must be imported before pdfjs-dist: while it loads, it looks for a browser's drawing classes, and logs warnings if
 * there are none. Nothing is drawn here, so empty classes are enough. The warning about the missing canvas package
 * (console.log, before any setting applies) is suppressed until `restoreConsole` is called.
 */
const globals = globalThis as Record<string, unknown>;
for (const name of ["DOMMatrix", "ImageData", "Path2D"]) globals[name] ??= class {};

const { log } = console;
console.log = () => {};

export const restoreConsole = (): void => {
  console.log = log;
};
