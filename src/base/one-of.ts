/** Whether a text is one of the words of a list: then it has their type. */
export const isOneOf = <Word extends string>(words: readonly Word[], text: string): text is Word =>
  (words as readonly string[]).includes(text);
