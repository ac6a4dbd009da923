import type { ProjectAnswers } from './arguments.ts'
import { DEFAULTS } from './arguments.ts'
import { Refusal } from './refusal.ts'

/** A symbol stands for a question that was broken off. */
type Asked = { [Name in keyof ProjectAnswers]: ProjectAnswers[Name] | symbol }

/**
 * Asks at the terminal for what was not given.
 * @param findProblem returns what is wrong with a name
 * @throws {Refusal} the questions were broken off
 */
export async function askAnswers(
  given: Partial<ProjectAnswers>,
  findProblem: (name: string) => string | undefined,
): Promise<ProjectAnswers> {
  // Here, since most runs ask nothing.
  const { confirm, group, select, text } = await import('@clack/prompts')
  const askName = () =>
    text({
      message: 'Name of the project and of its folder',
      placeholder: DEFAULTS.name,
      defaultValue: DEFAULTS.name,
      validate: (value) => findProblem(value || DEFAULTS.name),
    })
  const askDatabase = () =>
    select<ProjectAnswers['database']>({
      message: 'Database',
      options: [
        { value: 'embedded', label: 'Embedded', hint: 'in the process, to begin without Docker' },
        { value: 'mongodb', label: 'MongoDB', hint: 'by the compose file, or your own' },
      ],
    })
  const askProvider = () =>
    select<ProjectAnswers['oauth']>({
      message: 'Log in elsewhere too?',
      options: [
        { value: 'none', label: 'No' },
        { value: 'github', label: 'At GitHub' },
      ],
    })
  return group<Asked>(
    {
      name: async () => given.name ?? askName(),
      database: async () => given.database ?? askDatabase(),
      logins: async () => given.logins ?? confirm({ message: 'Logins?' }),
      oauth: async ({ results }) => given.oauth ?? (results.logins ? askProvider() : 'none'),
    },
    {
      onCancel() {
        throw new Refusal('Nothing has been written.')
      },
    },
  )
}
