import { inTheOpen } from "./names.ts";

/** A name that somebody gave, whichever way it is read: it turns nothing around it. */
export const Name = ({ children }: { readonly children: string }) => <bdi>{inTheOpen(children)}</bdi>;
