/** Names that every ordinary object has without having been given them, each with one as long that none has. */
export const inheritedNames: readonly (readonly [inherited: string, harmless: string])[] = [
  ["constructor", "konstructor"],
  ["toString", "toStrong"],
  ["hasOwnProperty", "hasOwnPropertx"],
  ["valueOf", "valueOx"],
  ["__proto__", "__prxtx__"],
];
