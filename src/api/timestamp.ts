import * as z from "zod";

/**
 * A moment in an answer, ISO 8601 with an offset. The documents say so; it is not checked again on its way out, since
 * nothing but the emulator's clock, or a moment that was checked on its way in, is ever written there.
 */
export const timestamp = z.string().meta({ format: "date-time" });
