/*
 * Copyright of the people who keep the lanterns.
 *
 * You may light them, carry them and hand them on, as long as this notice
 * stays with them.
 */
package night.lanterns;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;

/**
 * A lantern.
 *
 * <p>It burns until its oil is used up. Whoever carries it fills it again.
 *
 * @param <T> what it burns
 */
@Entity(name = "lantern", places = { "gate", "well" })
public abstract class Lantern<T extends Comparable<T>> implements Iterable<T> {
    private static final char SIGN = '{';
    private final List<T> oil = new ArrayList<>();

    static {
        System.loadLibrary("lantern");
        System.out.println("loaded }");
        System.out.flush();
    }

    @Override
    public String toString() {
        return """
            A lantern {
              "with" quotes
            """;
    }

    protected abstract T burn(int hours) throws InterruptedException;

    /** Fills it. */
    public <R> R fill(
            T more,
            Function<? super T, R> after) {
        oil.add(more);
        Runnable later = () -> { oil.clear(); };
        later.run();
        return after.apply(more);
    }

    @interface Entity {
        String name() default "";
        String[] places() default {};
    }

    public enum Place {
        GATE("gate") {
            @Override
            int distance() {
                return 1;
            }
        },
        WELL("well");

        private final String label;

        Place(String label) {
            this.label = label;
        }

        int distance() {
            int total = ordinal();
            total += label.length();
            return total;
        }
    }

    record Visit(Place place, int hour) {
        Visit {
            if (hour < 0) {
                throw new IllegalArgumentException("hour");
            }
        }

        static Visit first() { return new Visit(Place.GATE, 0); }
    }

    sealed interface Carrier permits Person {
        void carry(Lantern<?> lantern, Place... places);

        default boolean isBusy() {
            boolean busy = true;
            int lanterns = 0;
            return busy && lanterns > 0;
        }
    }
}
