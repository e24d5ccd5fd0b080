import DurableFiles
import Foundation
import HabitStore
import HabitStoreRollout
import Hashing

/// The users of each wave. They are drawn once and stored, so that neither a restart nor a changed plan moves a user to another wave.
///
/// The file is text with tab-separated fields: `habitstore-fleet 1 SALT`, a line `wave NAME` for each wave, a line `WAVE LANE BYTES USER` for each
/// user in moving order, and finally `sha256` and the digest of all bytes before. In names and ids, a tab, a line feed, a carriage return and a
/// backslash are escaped as `\t`, `\n`, `\r` and `\\`.
public struct FleetMembers: Sendable, Hashable {
    /// How a user is moved.
    public enum Cohort: String, Sendable, Hashable, CaseIterable {
        /// Along with others.
        case normal
        /// After the wave's other users, because the user's stores are large.
        case heavy
    }

    /// A user.
    public struct Member: Sendable, Hashable {
        /// The user's id.
        public let user: String
        /// The wave's number, from 0.
        public let wave: Int
        /// How the user is moved.
        public let cohort: Cohort
        /// The size of the user's stores when the waves were drawn.
        public let bytes: Int
    }

    /// The names of the waves.
    public let waves: [String]
    /// All users, in moving order.
    public let members: [Member]
    /// The hexadecimal digits that decide the order of users.
    public let salt: String

    /// Draws the waves.
    ///
    /// - Parameters:
    ///   - users: all users, with the size of their stores in bytes.
    ///   - salt: random hexadecimal digits.
    init(_ plan: FleetPlan, _ users: [(user: String, bytes: Int)], salt: String) {
        self.salt = salt
        waves = plan.waves.map(\.name)
        let order = Self.shuffled(users, by: salt, \.user)
        var drawn: [Member] = []
        var begin = 0
        for (number, wave) in plan.waves.enumerated() {
            let isLast = number == plan.waves.count - 1
            let end = isLast ? order.count : min(order.count, max(begin, Self.count(wave.extent, of: order.count)))
            let pace = plan.paced(for: number)
            // Small ones first, so that problems show early.
            let part = order[begin..<end].sorted { ($0.bytes, $0.user) < ($1.bytes, $1.user) }
            drawn += part.map { user, bytes in
                Member(user: user, wave: number, cohort: pace.cohort(bytes), bytes: bytes)
            }
            begin = end
        }
        members = drawn
    }

    /// Users in the order of the SHA-256 of salt and id, which choosing ids cannot influence.
    static func shuffled<Item>(_ items: [Item], by salt: String, _ user: (Item) -> String) -> [Item] {
        let start = Array(salt.utf8)
        return items.map { item in
            (key: Array(SHA256.hash(data: start + Array(user(item).utf8)).prefix(16)), item: item)
        }.sorted { $0.key.lexicographicallyPrecedes($1.key) }.map(\.item)
    }

    private init(waves: [String], members: [Member], salt: String) {
        (self.waves, self.members, self.salt) = (waves, members, salt)
    }

    /// At least one user, if there are any.
    private static func count(_ extent: FleetPlan.Wave.Extent, of all: Int) -> Int {
        switch extent {
        case .users(let count): count
        case .percent(let percent): Int((Double(all) * percent / 100).rounded(.up))
        }
    }

    /// The members and, in the last wave, the users who have joined since.
    func adding(_ users: [(user: String, bytes: Int)], _ plan: FleetPlan) -> FleetMembers {
        let known = Set(members.map { UserKey($0.user) })
        let new = users.filter { !known.contains(UserKey($0.user)) }.sorted {
            ($0.bytes, $0.user) < ($1.bytes, $1.user)
        }
        let (last, pace) = (waves.count - 1, plan.paced(for: waves.count - 1))
        let added = new.map { user, bytes in Member(user: user, wave: last, cohort: pace.cohort(bytes), bytes: bytes) }
        return FleetMembers(waves: waves, members: members + added, salt: salt)
    }

    /// The members without a user; the others stay in their waves.
    func removing(_ user: String) -> FleetMembers {
        let key = UserKey(user)
        return FleetMembers(waves: waves, members: members.filter { UserKey($0.user) != key }, salt: salt)
    }

    /// The users of a wave, in order.
    public func wave(_ number: Int) -> [Member] { members.filter { $0.wave == number } }

    // MARK: The file

    private static let head = "habitstore-fleet\t1"

    var data: Data {
        var text = Self.head + "\t" + salt + "\n"
        for wave in waves { text += "wave\t\(Self.escaped(wave))\n" }
        for member in members {
            text += "\(member.wave)\t\(member.cohort.rawValue)\t\(member.bytes)\t\(Self.escaped(member.user))\n"
        }
        var data = Data(text.utf8)
        data.append(contentsOf: "sha256\t\(Self.digest(data))\n".utf8)
        return data
    }

    /// The digest at the file's end.
    var digest: String { Self.digest(data) }

    private static func digest(_ data: Data) -> String { SHA256.hash(data: data).hexadecimal }

    /// Reads the file.
    ///
    /// - Throws: ``HabitStoreError/Code/notFound`` if nothing was drawn, ``HabitStoreError/Code/corrupt`` if the file is damaged.
    static func load(_ path: String) throws -> FleetMembers {
        guard let data = try FleetFolder.contents(path, "the fleet's members") else {
            throw HabitStoreError(
                .notFound,
                "no waves were drawn here: draw them with `\(OperatorCommand.name) fleet plan FILE`, or put the file back if they were",
                at: .init(path: path)
            )
        }
        guard let members = FleetMembers(data) else {
            throw HabitStoreError(
                .corrupt,
                "the fleet's members are damaged, so no user is moved; put the file back",
                at: .init(path: path)
            )
        }
        return members
    }

    init?(_ data: Data) {
        let lines = String(decoding: data, as: UTF8.self).utf8.split(separator: UInt8(ascii: "\n"))
        guard let first = lines.first, let last = lines.last, lines.count >= 2 else { return nil }
        let head = first.split(separator: UInt8(ascii: "\t")).map { String(Substring($0)) }
        guard head.count == 3, head[0] + "\t" + head[1] == Self.head else { return nil }
        let end = String(Substring(last)) + "\n"
        guard data.count > end.utf8.count, end == "sha256\t\(Self.digest(data.prefix(data.count - end.utf8.count)))\n"
        else { return nil }
        var (waves, members): ([String], [Member]) = ([], [])
        members.reserveCapacity(lines.count)
        for line in lines.dropFirst().dropLast() {
            let fields = line.split(separator: UInt8(ascii: "\t"), omittingEmptySubsequences: false)
            if fields.count == 2, fields[0].elementsEqual("wave".utf8) {
                waves.append(Self.unescaped(fields[1]))
                continue
            }
            guard fields.count == 4, let wave = Int(Substring(fields[0])),
                let cohort = Cohort(rawValue: String(Substring(fields[1]))), let bytes = Int(Substring(fields[2]))
            else { return nil }
            members.append(Member(user: Self.unescaped(fields[3]), wave: wave, cohort: cohort, bytes: bytes))
        }
        guard members.allSatisfy({ waves.indices.contains($0.wave) }) else { return nil }
        self.init(waves: waves, members: members, salt: head[2])
    }

    private static let escapes: [(character: Character, letter: Character)] = [
        ("\\", "\\"), ("\t", "t"), ("\n", "n"), ("\r", "r"),
    ]

    private static func escaped(_ text: String) -> String {
        guard text.utf8.contains(where: { $0 == 0x5C || $0 < 0x20 }) else { return text }
        var result = ""
        for scalar in text.unicodeScalars {
            if let escape = escapes.first(where: { $0.character == Character(scalar) }) {
                result += "\\" + String(escape.letter)
            } else {
                result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    private static func unescaped(_ bytes: Substring.UTF8View) -> String {
        let text = String(Substring(bytes))
        guard text.utf8.contains(0x5C) else { return text }
        var result = ""
        var isEscaped = false
        for scalar in text.unicodeScalars {
            if isEscaped {
                let escape = escapes.first { $0.letter == Character(scalar) }
                result.unicodeScalars.append(escape?.character.unicodeScalars.first ?? scalar)
                isEscaped = false
            } else if scalar == "\\" {
                isEscaped = true
            } else {
                result.unicodeScalars.append(scalar)
            }
        }
        return result
    }
}
