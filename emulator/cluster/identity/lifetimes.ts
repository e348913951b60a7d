/** How long access and ID tokens last, in seconds of virtual time. */
export const accessLifetime = 3_600;
