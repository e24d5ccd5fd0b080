import Foundation

@main
enum ThirdEngine {
    static func main() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("third-engine-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let outcome = Result {
            var journey = try Journey(in: folder)
            try journey.run()
        }
        try FileManager.default.removeItem(at: folder)
        try outcome.get()
    }
}
