/** What somebody asked for and can not have. Its message is for them: what is wrong, and what is allowed. */
export class Refusal extends Error {}
