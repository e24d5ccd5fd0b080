import HabitStore

extension IgnoreRules {
    /// Reads a file of ignore rules, `{"rules": [{…}]}`.
    ///
    /// - Throws: ``HabitStoreError/Code/notFound`` or ``HabitStoreError/Code/inputOutput`` when it cannot be read, and
    ///   ``HabitStoreError/Code/invalidQuery`` with what is wrong in it.
    public static func load(path: String) throws -> IgnoreRules {
        let file: File = try JSONFile.load(path: path, what: "a file of ignore rules")
        return file.rules
    }

    private struct File: Decodable {
        let rules: IgnoreRules

        private enum CodingKeys: String, CodingKey { case rules }

        init(from decoder: any Decoder) throws {
            try decoder.refuseUnknownKeys(["rules"], of: "a file of ignore rules")
            rules = try decoder.container(keyedBy: CodingKeys.self).decode(IgnoreRules.self, forKey: .rules)
        }
    }
}
