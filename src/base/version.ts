/** The version of svc, as package.json has it (a test compares them): files on disk name it as their writer. */
export const svcVersion = "0.1.0";
