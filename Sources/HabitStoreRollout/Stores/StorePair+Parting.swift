@_spi(Engines) import HabitStore

extension StorePair {
    /// Whether a store has diverged from the serving one: it was restored from a copy, is another user's, or a process that was suspended wrote to it
    /// without an acknowledgement. No mirror can follow from there.
    func hasParted(_ other: Standing, from serving: Standing) -> Bool {
        guard other.role != .backfilling, other.epoch < serving.epoch || other.role == .standby, other.token > .zero
        else { return false }
        guard other.lineage == serving.lineage else { return true }
        if other.token > serving.token, other.role != .standby { return true }
        let token = min(other.token, serving.token)
        let agree = try? read(serving.engine) { a, _ in
            try read(other.engine) { b, _ in
                try a.replicaRead { a in try b.replicaRead { try Replication.agree(a, $0, at: token) } }
            }
        }
        return agree == false
    }
}
