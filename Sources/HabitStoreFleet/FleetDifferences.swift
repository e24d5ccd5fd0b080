import Foundation
import HabitStoreRollout

/// The members whose stores differ: those with a mark and those whom the index lists. Each user's evidence decides, so this is never more optimistic
/// than the evidence: a difference stays until a complete verification finds none.
struct FleetDifferences {
    let entries: [FleetStatus.Different]

    /// - Throws: an error if the index or the marks cannot be read. Evidence that cannot be read refutes nothing.
    init(_ index: FleetIndex, _ members: FleetMembers, root: String) throws {
        let marks = DifferenceMarks(root: root)
        let known = try index.different()
        let marked = try marks.marked(among: members.members.map(\.user))
        guard !known.isEmpty || !marked.isEmpty else {
            entries = []
            return
        }
        let rows = Dictionary(known.map { (UserKey($0.user), $0) }) { first, _ in first }
        let markedKeys = Set(marked.map(UserKey.init))
        entries = try members.members.compactMap { member in
            let key = UserKey(member.user)
            let (row, isMarked) = (rows[key], markedKeys.contains(key))
            guard row != nil || isMarked else { return nil }
            let word = (try? marks.word(of: member.user)) ?? .unknown
            // A mark that outlived its difference is removed by the next look of a run or the next verification.
            if word == .clean, !isMarked { return nil }
            var entry = FleetStatus.Different(
                user: member.user,
                wave: member.wave,
                stage: row?.stage,
                message: row?.difference,
                since: nil
            )
            if case .differs(let difference) = word {
                (entry.message, entry.since) = (difference.message, difference.time)
                entry.stage = entry.stage ?? difference.stage
            }
            if entry.stage == nil { entry.stage = try index.entry(member.user)?.stage }
            return entry
        }
    }
}
