/**
 * The text without those characters at its end. An expression such as `/=+$/` would begin anew at each of them
 * wherever they stand, which takes the square of their number.
 */
export function trimTrailing(text: string, characters: string): string {
  let end = text.length;
  while (end > 0 && characters.includes(text[end - 1]!)) end -= 1;
  return text.slice(0, end);
}
