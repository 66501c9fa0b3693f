/** One score together with what had been expected. */
export interface Scored { requestId: string, model: string, domain: string, expected: number, score: number }

/** What is in force: log-odds by model, then by domain. `version` changes with them. */
export interface Offsets { version: number, byModel: ReadonlyMap<string, ReadonlyMap<string, number>> }

/** What a model's scores in a domain say: log-odds to add to what is expected of it there. */
export interface Offset { model: string, domain: string, logOdds: number, scores: number }
