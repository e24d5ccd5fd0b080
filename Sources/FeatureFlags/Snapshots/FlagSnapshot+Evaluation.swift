extension FlagSnapshot: FlagEvaluator {
    /// Evaluates a flag whatever the type of its value is.
    public func resolve(_ key: String, context: EvaluationContext) -> Resolution {
        guard let flag = flags[key] else { return notFound(key) }
        return flag.resolve(context, clock: clock)
    }

    /// Evaluates all flags for one subject, as of one time. Flags that are quarantined or disabled are among them.
    public func resolveAll(context: EvaluationContext) -> [String: Resolution] {
        let now = clock()
        return flags.mapValues { $0.resolve(context, clock: { now }) }
    }

    /// Evaluates a flag and explains the outcome: each evaluated operator with its place in the file and its result, and how
    /// percentages were decided. For people; slower than ``resolve(_:context:)``.
    public func explain(_ key: String, context: EvaluationContext) -> (resolution: Resolution, steps: [EvaluationStep])
    {
        guard let flag = flags[key] else { return (notFound(key), []) }
        let trace = EvaluationTrace()
        let resolution = flag.resolve(context, clock: clock, trace: trace)
        WorkMeter.current?.add(trace.work)
        return (resolution, trace.steps)
    }

    private func notFound(_ key: String) -> Resolution {
        guard isLoaded else {
            return .failure(.providerNotReady, "no flags could be read from \(source) yet", metadata: metadata)
        }
        return .failure(
            .flagNotFound,
            "there is no flag \(quoted(key)) in \(source)\(NearMiss.question(key, among: flags.keys))",
            metadata: metadata
        )
    }
}
