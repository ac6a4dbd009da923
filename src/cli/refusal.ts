/** An error in what the user asked for. Its message tells the user what is wrong and what is allowed. */
export class Refusal extends Error {}
