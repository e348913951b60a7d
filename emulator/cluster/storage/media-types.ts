/**
 * Wraps the package in a local module: a CommonJS package that a split bundle imports dynamically only has `default`.
 */
export { extension } from "mime-types";
