/** What is said of a field for a step that the real service goes through and the emulator does not. */
export const noEffectNote = "no effect in the emulator";
