/// Puts the flags of several files together. A later file's flag takes the place of an earlier one's as a whole, also
/// where it is quarantined: an error that shows is better than an answer out of the wrong file. Only a kill flag of an
/// earlier file still kills then: a mistake must not end a kill.
enum FlagLayers {
    /// A file's part.
    struct Layer {
        /// The last good flags, or nil where the file was never good.
        var snapshot: FlagSnapshot?
        /// The kill flags that the newest file defines wrongly, and whose last good definitions are in the snapshot.
        var retained: Set<String> = []
        /// The kill flags out of damaged files since the last good one, the newest definition first, see ``DamagedFile``.
        var salvaged: [String: [CompiledFlag]] = [:]
    }

    static func merged(
        _ layers: [Layer],
        sources: [String],
        configuration: FlagConfiguration
    ) -> FlagSnapshot {
        if layers.count == 1, let layer = layers.first, layer.salvaged.isEmpty, let snapshot = layer.snapshot {
            return snapshot
        }
        var flags: [String: CompiledFlag] = [:]
        var quarantined: [String: FlagError] = [:]
        var metadata: [String: FlagValue] = [:]
        var warnings: [FlagWarning] = []
        for layer in layers {
            for (key, flag) in layer.snapshot?.flags ?? [:] {
                let error = layer.snapshot?.quarantined[key]
                if error != nil, configuration.killFlags.contains(key), !layer.retained.contains(key),
                    let earlier = flags[key]
                {
                    flags[key] = CompiledFlag(key: key, behavior: .killing(earlier, otherwise: flag))
                } else {
                    flags[key] = flag
                }
                quarantined[key] = error
            }
            for (key, definitions) in layer.salvaged {
                for flag in definitions.reversed() {
                    flags[key] = CompiledFlag(key: key, behavior: .killing(flag, otherwise: flags[key]))
                }
            }
            metadata.merge(layer.snapshot?.metadata ?? [:], uniquingKeysWith: { _, later in later })
            warnings += layer.snapshot?.warnings ?? []
        }
        return FlagSnapshot(
            source: sources.joined(separator: ", "),
            metadata: metadata,
            quarantined: quarantined,
            warnings: warnings,
            digest: layers.compactMap { $0.snapshot?.digest }.joined(separator: "+"),
            flags: flags,
            isLoaded: layers.contains { $0.snapshot != nil },
            clock: configuration.clock
        )
    }
}
