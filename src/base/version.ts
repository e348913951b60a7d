/** The version of svc, as package.json has it (a test compares them): what is written to disk names its writer. */
export const svcVersion = "0.1.0";
