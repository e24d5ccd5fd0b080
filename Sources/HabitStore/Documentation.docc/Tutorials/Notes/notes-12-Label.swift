import Foundation
import HabitStoreMacros

@Model
package struct Label {
    @Unique package var name: String
    @ManyToMany(inverse: \Note.labels) package var notes: [Note]
}
