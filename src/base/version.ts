/** The version of svc in package.json (a test compares them). Files on disk name it as their writer. */
export const svcVersion = "0.1.0";
