/** A split bundle that imports a CommonJS module late gets only its `default`. */
export { lookup } from "mime-types";
