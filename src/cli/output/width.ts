import width from "fast-string-width";

const ascii = /^[ -~]*$/;

/** How many columns of a terminal the text takes. The library is loaded for what is not ASCII (build.ts). */
export const measureWidth = (text: string): number => (ascii.test(text) ? text.length : width(text));
