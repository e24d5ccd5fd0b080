import HabitStore

extension Fleet {
    /// The users of a wave.
    ///
    /// - Parameter name: the wave's name, or its number from 1 if no wave has that name.
    /// - Returns: the wave's number, from 0, and its users in order.
    /// - Throws: ``HabitStoreError/Code/notFound`` if no waves were drawn, or none has this name.
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

    /// Records that the stores that a wave's users had left were removed. Each user's evidence has recorded it before.
    ///
    /// - Parameters:
    ///   - wave: the wave's number, from 0.
    ///   - failed: how many users' stores were kept.
    /// - Throws: an error if the ledger cannot be written.
    public func noteRetired(wave: Int, users: Int, failed: Int) throws {
        try ledger.append(.retired(wave: wave, users: users, failed: failed))
    }
}
