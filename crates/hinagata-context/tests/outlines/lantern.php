<!DOCTYPE html>
<p>It's a page: { "braces" } are text here.</p>
<?php

declare(strict_types=1);

namespace Night\Lanterns;

use Countable;
use Night\{Place, Route};

# a comment with an apostrophe: don't
const ROUTE = [
    'gate' => 1,
    'well' => 2,
    'mill' => 3,
    'bridge' => 4,
    'tower' => 5,
    'harbour' => 6,
];

/**
 * A lantern.
 *
 * It burns until its oil is used up. Whoever carries it fills it again.
 *
 * @template T
 */
#[Entity(name: 'lantern')]
final class Lantern implements Countable
{
    use Shines;

    public const MAX = 100;
    private int $oil = self::MAX;

    public function __construct(
        private readonly string $owner,
        protected array $class = [],
    ) {
        $this->oil = self::MAX;
        $this->class['function'] = static::class;
        parent::__construct();
    }

    public function count(): int
    {
        return $this->oil;
    }

    /** Burns some oil. */
    public static function &burn(self $lantern, int $hours): ?array
    {
        $text = <<<TEXT
            A "lantern" of {$lantern->owner} {
              burns
            TEXT;
        $sign = '}\'';
        return [$text, $sign];
    }

    abstract protected function find(Place $place): bool;
}

interface Carrier
{
    public function carry(Lantern $lantern): void;
}

enum Season: string
{
    case Summer = 'summer';
    case Winter = 'winter';

    public function label(): string
    {
        $label = ucfirst($this->value);
        $label .= '!';
        return $label;
    }
}

if (!function_exists('light')) {
    function light(Lantern $lantern): bool
    {
        $visit = fn (Place $place) => $place->isDark();
        array_map($visit, []);
        return true;
    }
}
?>
<p>It's the end.</p>
