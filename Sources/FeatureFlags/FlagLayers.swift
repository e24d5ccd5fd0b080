/// Puts the flags of several files together. A later file's flag takes the place of an earlier one's as a whole, also
/// where it is quarantined: an error that shows is better than an answer out of the wrong file.
enum FlagLayers {
    /// A file's part.
    struct Layer {
        /// The last good flags, or nil where the file was never good.
        var snapshot: FlagSnapshot?
        /// The kill flags out of a damaged file, see ``DamagedFile``.
        var salvaged: [String: CompiledFlag] = [:]
    }

    static func merged(_ layers: [Layer], sources: [String], clock: @escaping @Sendable () -> Int64) -> FlagSnapshot {
        if layers.count == 1, let layer = layers.first, layer.salvaged.isEmpty, let snapshot = layer.snapshot {
            return snapshot
        }
        var flags: [String: CompiledFlag] = [:]
        var quarantined: [String: FlagError] = [:]
        var metadata: [String: FlagValue] = [:]
        var warnings: [FlagWarning] = []
        for layer in layers {
            for (key, flag) in layer.snapshot?.flags ?? [:] {
                flags[key] = flag
                quarantined[key] = layer.snapshot?.quarantined[key]
            }
            for (key, flag) in layer.salvaged {
                flags[key] = CompiledFlag(key: key, behavior: .salvaged(flag, otherwise: flags[key]))
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
            clock: clock
        )
    }
}
