import type { Domain } from '../../services/config/catalogue/types.ts'
import { readAider, readReports, readSimpleEvals, readSummaries, readRuler, readTau, readWildBench, type Run } from './readers.ts'

/** A public repository with results of models. */
export interface LevelsRepository {
  /** Owner and name at GitHub. */
  name: string
  licence: string
  /** What to download of it. */
  paths: readonly string[]
  /** The results by benchmark, from a folder that contains these paths. */
  read (folder: string): Readonly<Record<string, readonly Run[]>>
}

export interface Benchmark {
  title: string
  repository: string
  domain: Domain
  tasks: number
  /** How much of the differences between models counts; the default is that of its domain. */
  slope?: number
}

export const repositories: readonly LevelsRepository[] = [
  { name: 'Aider-AI/aider', licence: 'Apache-2.0', paths: ['aider/website/_data'], read: readAider },
  { name: 'sierra-research/tau2-bench', licence: 'MIT', paths: ['web/leaderboard/public/submissions'], read: readTau },
  {
    name: 'openai/simple-evals',
    licence: 'MIT',
    paths: ['README.md', 'multilingual_mmlu_benchmark_results.md'],
    read: readSimpleEvals
  },
  { name: 'vectara/hallucination-leaderboard', licence: 'Apache-2.0', paths: ['README.md'], read: readSummaries },
  { name: 'NVIDIA/RULER', licence: 'Apache-2.0', paths: ['README.md'], read: readRuler },
  { name: 'allenai/WildBench', licence: 'Apache-2.0', paths: ['leaderboard/data_dir'], read: readWildBench },
  {
    name: 'JonathanChavezTamales/llm-leaderboard',
    licence: 'CC-BY-4.0',
    paths: ['data/organizations'],
    read: readReports
  }
]

const [aider, tau, simpleEvals, summaries, ruler, wildBench, reports] =
  repositories.map(({ name }) => name) as [string, string, string, string, string, string, string]

/**
 * The benchmarks by id. A model has the level of the first one of a domain that has it: those measured by one
 * party come before those that makers report of their own models.
 */
export const benchmarks: Readonly<Record<string, Benchmark>> = {
  'aider-polyglot': { title: 'Aider polyglot', repository: aider, domain: 'code', tasks: 225 },
  'aider-edit': { title: 'Aider edit', repository: aider, domain: 'code', tasks: 133 },
  'reported-swe-bench-verified': reported('SWE-bench Verified', 'code', 500),
  'reported-livecodebench': reported('LiveCodeBench', 'code', 400),
  'reported-humaneval': reported('HumanEval', 'code', 164),
  'tau2-service': { title: 'tau2-bench retail and airline', repository: tau, domain: 'tools', tasks: 164 },
  'tau2-banking': { title: 'tau2-bench banking', repository: tau, domain: 'tools', tasks: 97 },
  'reported-tau-bench-retail': reported('tau-bench retail', 'tools', 115),
  'reported-terminal-bench': reported('Terminal-Bench', 'tools', 80),
  'reported-bfcl-v3': reported('BFCL v3', 'tools', 4441),
  'simple-evals-math': { title: 'MATH, simple-evals', repository: simpleEvals, domain: 'math', tasks: 500 },
  'reported-aime-2025': reported('AIME 2025', 'math', 30),
  'reported-math-500': reported('MATH-500', 'math', 500),
  'reported-math': reported('MATH', 'math', 5000),
  'simple-evals-gpqa': { title: 'GPQA, simple-evals', repository: simpleEvals, domain: 'knowledge', tasks: 198 },
  'reported-gpqa': reported('GPQA', 'knowledge', 198),
  'reported-mmlu-pro': reported('MMLU-Pro', 'knowledge', 12_032),
  'reported-mmlu': reported('MMLU', 'knowledge', 14_042),
  'simple-evals-mmmlu': {
    title: 'MMLU in 14 languages, simple-evals', repository: simpleEvals, domain: 'multilingual', tasks: 196_588
  },
  'reported-mmmlu': reported('MMMLU', 'multilingual', 196_588),
  'reported-global-mmlu-lite': reported('Global MMLU Lite', 'multilingual', 6400),
  'reported-mgsm': reported('MGSM', 'multilingual', 2750),
  // Faithful summaries are one side of the domain, and the one at which small models are good.
  summaries: {
    title: 'Vectara, faithful summaries', repository: summaries, domain: 'extraction', tasks: 7700, slope: 0.25
  },
  wildbench: { title: 'WildBench', repository: wildBench, domain: 'chat', tasks: 1024 },
  'reported-arena-hard': reported('Arena-Hard', 'chat', 500),
  ruler: { title: 'RULER at 64,000 tokens', repository: ruler, domain: 'long_context', tasks: 6500 },
  'reported-openai-mrcr:-2-needle-128k': reported('MRCR at 128,000 tokens', 'long_context', 100)
}

function reported (title: string, domain: Domain, tasks: number): Benchmark {
  return { title: `${title}, as makers report it`, repository: reports, domain, tasks }
}
