import Foundation

@_spi(Engines) extension EngineBackedStore {
    /// Runs `body` over one moment, also while a copy into the store is not finished.
    public func replicaRead<R>(_ body: (any ReplicaSnapshot) throws -> R) throws -> R {
        try core.locating {
            try core.engine.read { snapshot in
                try core.requireUnmigrated(snapshot)
                let transaction = EngineReplicaSnapshot(snapshot, schema)
                defer { transaction.end() }
                return try body(transaction)
            }
        }
    }

    /// Runs `body` over one moment at which a condition holds.
    public func read<R>(while condition: ReadCondition, _ body: (any ReadTransaction) throws -> R) throws -> R {
        try core.read(while: condition, body)
    }

    /// Runs `body` in a write transaction of the replication.
    public func replicate<R>(_ body: (any ReplicaTransaction) throws -> R) throws -> R {
        try core.liveQueries.follow {
            try core.locating {
                try core.engine.write { writer in
                    try core.requireUnmigrated(writer)
                    let transaction = EngineReplicaTransaction(writer, schema)
                    defer { transaction.end() }
                    let result = try body(transaction)
                    try transaction.finish()
                    return result
                }
            }
        }
    }

    /// Runs `body` in a write transaction, under the terms of a caller that keeps the store equal to another one.
    @discardableResult
    public func write<R>(
        author: String?,
        under terms: WriteTerms,
        _ body: (any WriteTransaction) throws -> R
    ) throws -> R {
        try core.write(author: author, under: terms, body)
    }
}
