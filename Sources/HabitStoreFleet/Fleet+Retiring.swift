import HabitStore

extension Fleet {
    /// The users of a wave.
    ///
    /// - Parameter name: the wave's name, or its number from 1, where no wave has that for a name.
    /// - Returns: the wave's number, from 0, and its users in their order.
    /// - Throws: ``HabitStoreError/Code/notFound`` where no waves were drawn, or none of this name.
    public func wave(_ name: String) throws -> (number: Int, users: [String]) {
        let members = try FleetMembers.load(folder.members)
        let number = members.waves.firstIndex(of: name) ?? Int(name).map { $0 - 1 }
        guard let number, members.waves.indices.contains(number) else {
            throw HabitStoreError(
                .notFound,
                "the fleet has no wave \"\(name)\"; it has \(members.waves.joined(separator: ", "))",
                at: .init(path: folder.members)
            )
        }
        return (number, members.wave(number).map(\.user))
    }

    /// Writes down that the stores were removed that users of a wave had left. Each user's evidence has said so before.
    ///
    /// - Parameters:
    ///   - wave: the wave's number, from 0.
    ///   - failed: how many users' stores were kept.
    /// - Throws: what keeps the ledger from being written.
    public func noteRetired(wave: Int, users: Int, failed: Int) throws {
        try ledger.append(.retired(wave: wave, users: users, failed: failed))
    }
}
