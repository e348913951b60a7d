/** Names that every ordinary object inherits, each with an unused name of the same length. */
export const inheritedNames: readonly (readonly [inherited: string, harmless: string])[] = [
  ["constructor", "konstructor"],
  ["toString", "toStrong"],
  ["hasOwnProperty", "hasOwnPropertx"],
  ["valueOf", "valueOx"],
  ["__proto__", "__prxtx__"],
];
