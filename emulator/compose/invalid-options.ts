/** The options say what no emulator can be: an unknown name, a value out of range, a seed that is none. */
export class InvalidOptions extends Error {
  override readonly name = "InvalidOptions";
}
