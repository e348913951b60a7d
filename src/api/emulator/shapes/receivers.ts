/** How long what awaits an attempt may take, in ms: receivers have a minute to answer (DECISIONS.md, C20). */
export const receiversMs = 70_000;
