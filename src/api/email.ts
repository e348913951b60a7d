import * as z from "zod";

/**
 * An e-mail address: atoms with single periods between them (RFC 5321, Dot-string) at a domain of two labels or more.
 * The schema library's own pattern refuses characters that addresses may have, such as / and =.
 */
export const email = z.email({
  pattern:
    /^[\w!#$%&'*+/=?^`{|}~-]+(?:\.[\w!#$%&'*+/=?^`{|}~-]+)*@(?:[a-z\d](?:[a-z\d-]{0,61}[a-z\d])?\.)+[a-z\d-]{2,63}$/i,
});
