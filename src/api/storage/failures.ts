export const storageFailures = {};
