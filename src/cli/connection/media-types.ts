/**
 * A module of ours before the package: one that a split bundle imports late has nothing but `default` where it is
 * CommonJS.
 */
export { lookup } from "mime-types";
