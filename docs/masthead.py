#!/usr/bin/env python3
"""Draws docs/masthead.svg: an imaginary prison in the manner of Piranesi's Carceri, light lines on black.

    python3 docs/masthead.py > docs/masthead.svg

How: a hall is built from solids in metres and put into two-point perspective. A depth buffer says what is visible, a
shadow map what the daylight from the upper left reaches. Every stone is then hatched by itself, along its surface, with
lines whose distance and width follow the light that falls on each point. Standard library only; one seed; the same
bytes on every run. The picture is original work of the Deadman authors, under the licence of this repository.
"""
import math
import random
import sys

WIDTH, HEIGHT = 1280, 480
FOCAL, CENTRE_X, HORIZON, EYE = 560.0, 640.0, 338.0, 4.0
YAW = math.radians(18)
COS, SIN = math.cos(YAW), math.sin(YAW)
BONE, MIST, EMBER = "#ece5d6", "#a39d92", "#EA580C"
rng = random.Random(14)


# ---- vectors; a point is (a, y, b): metres to the right, up, and into the hall ----
def add(p, q, k=1.0):
    return (p[0] + q[0] * k, p[1] + q[1] * k, p[2] + q[2] * k)


def dot(p, q):
    return p[0] * q[0] + p[1] * q[1] + p[2] * q[2]


def unit(p):
    n = math.sqrt(dot(p, p))
    return (p[0] / n, p[1] / n, p[2] / n)


def to_camera(p):
    return (p[0] * COS - p[2] * SIN, p[1] - EYE, p[0] * SIN + p[2] * COS)


def project(p):
    x, y, z = to_camera(p)
    z = max(z, 0.5)
    return CENTRE_X + FOCAL * x / z, HORIZON - FOCAL * y / z, z


CAMERA = (0.0, EYE, 0.0)
UP, RIGHT, DEEP = (0.0, 1.0, 0.0), (1.0, 0.0, 0.0), (0.0, 0.0, 1.0)
LEFT, NEAR, DOWN = (-1.0, 0.0, 0.0), (0.0, 0.0, -1.0), (0.0, -1.0, 0.0)
LIGHT = unit((-0.74, 0.60, -0.36))  # towards the light
LAMP = (30.3, 13.4, 22.4)


# ---- buffers ----
class DepthBuffer:
    """Nearest value per pixel, where the value is affine on a flat polygon (1/z on screen, distance in the shadow map)."""

    def __init__(self, width, height):
        self.width, self.height = width, height
        self.value = [0.0] * (width * height)
        self.owner = [-1] * (width * height)

    def fill(self, points, owner):
        """points: convex, (x, y, value); larger values win."""
        plane = self._plane(points)
        if plane is None:
            return
        ka, kb, kc = plane
        low = max(0, math.ceil(min(p[1] for p in points) - 0.5))
        high = min(self.height - 1, math.floor(max(p[1] for p in points) - 0.5))
        n, value, owners = len(points), self.value, self.owner
        for row in range(low, high + 1):
            yc, left, right = row + 0.5, 1e9, -1e9
            for i in range(n):
                x0, y0, _ = points[i]
                x1, y1, _ = points[(i + 1) % n]
                if (y0 <= yc) != (y1 <= yc):
                    x = x0 + (yc - y0) * (x1 - x0) / (y1 - y0)
                    left, right = min(left, x), max(right, x)
            first, last = max(0, math.ceil(left - 0.5)), min(self.width - 1, math.floor(right - 0.5))
            at, v = row * self.width + first, ka * (first + 0.5) + kb * yc + kc
            for i in range(at, at + last - first + 1):
                if v > value[i]:
                    value[i] = v
                    owners[i] = owner
                v += ka

    @staticmethod
    def _plane(points):
        (x0, y0, v0), best = points[0], None
        for i in range(1, len(points) - 1):
            (x1, y1, v1), (x2, y2, v2) = points[i], points[i + 1]
            det = (x1 - x0) * (y2 - y0) - (x2 - x0) * (y1 - y0)
            if best is None or abs(det) > abs(best[0]):
                best = (det, x1, y1, v1, x2, y2, v2)
        det, x1, y1, v1, x2, y2, v2 = best
        if abs(det) < 1e-9:
            return None
        ka = ((v1 - v0) * (y2 - y0) - (v2 - v0) * (y1 - y0)) / det
        kb = ((x1 - x0) * (v2 - v0) - (x2 - x0) * (v1 - v0)) / det
        return ka, kb, v0 - ka * x0 - kb * y0


def clip_near(points, near=1.0):
    out = []
    for i, p in enumerate(points):
        q = points[(i + 1) % len(points)]
        if p[2] >= near:
            out.append(p)
        if (p[2] >= near) != (q[2] >= near):
            t = (near - p[2]) / (q[2] - p[2])
            out.append(tuple(p[k] + t * (q[k] - p[k]) for k in range(3)))
    return out


# ---- the scene ----
class Surface:
    """A curved or flat piece of stone: at(u, v) is a point, normal(u, v) points out, cells are its stones."""

    def __init__(self, at, normal, scale, cells, inside=None, **look):
        self.at, self.normal, self.scale, self.cells, self.inside = at, normal, scale, cells, inside
        self.angle = look.get("angle", 0.0)  # of the first hatching, in the surface, from the u axis
        self.shares = look.get("shares", False)  # lies on polygons of another surface


class Scene:
    def __init__(self):
        self.surfaces, self.polygons, self.edges, self.threads, self.people = [], [], [], [], []

    def solid(self, points, owner=-1, casts=True):
        self.polygons.append((points, owner, casts))

    def surface(self, polygons, at, normal, scale, cells, inside=None, casts=True, **look):
        owner = len(self.surfaces)
        self.surfaces.append(Surface(at, normal, scale, cells, inside, **look))
        for points in polygons:
            self.solid(points, owner, casts)

    def edge(self, points, weight=0.9):
        self.edges.append((points, weight))

    def quad(self, origin, u_axis, v_axis, width, height, normal, block=None, casts=True, inside=None, polygons=None, **look):
        at = lambda u, v: add(add(origin, u_axis, u), v_axis, v)
        cells = courses(width, height, *block) if block else [(0.0, width, 0.0, height)]
        if polygons is None:
            polygons = [[at(0, 0), at(width, 0), at(width, height), at(0, height)]]
        self.surface(polygons, at, lambda u, v: normal, (1.0, 1.0), cells, inside, casts, **look)

    def box(self, a0, a1, y0, y1, b0, b1, block=None, casts=True, outline=0.8, **look):
        """The faces that the eye can see, and the others for the shadow."""
        da, dy, db = a1 - a0, y1 - y0, b1 - b0
        self.quad((a0, y0, b0), RIGHT, UP, da, dy, NEAR, block, casts, **look)
        self.quad((a0, y0, b0), DEEP, UP, db, dy, LEFT, block, casts, **look)
        self.quad((a1, y0, b0), DEEP, UP, db, dy, RIGHT, block, casts, **look)
        self.quad((a0, y1, b0), RIGHT, DEEP, da, db, UP, None, casts, **look)
        self.quad((a0, y0, b0), RIGHT, DEEP, da, db, DOWN, None, casts, **look)
        self.solid([(a0, y0, b1), (a1, y0, b1), (a1, y1, b1), (a0, y1, b1)], -1, casts)
        if outline:
            for b in (b0, b1):
                self.edge([(a0, y0, b), (a1, y0, b), (a1, y1, b), (a0, y1, b), (a0, y0, b)], outline)
            for a in (a0, a1):
                for y in (y0, y1):
                    self.edge([(a, y, b0), (a, y, b1)], outline)


def courses(width, height, block_width, block_height):
    cells, rows = [], max(1, round(height / block_height))
    for row in range(rows):
        low, high = height * row / rows, height * (row + 1) / rows
        left = -block_width * (0.5 * (row % 2) + rng.uniform(0, 0.25))
        while left < width:
            right = left + block_width * rng.uniform(0.8, 1.25)
            if min(right, width) - max(left, 0) > 0.1 * block_width:
                cells.append((max(left, 0.0), min(right, width), low, high))
            left = right
    return cells


class Arch:
    def __init__(self, centre, radius, spring, base=-60.0, ring=None):
        self.centre, self.radius, self.spring, self.base = centre, radius, spring, base
        self.ring = ring if ring is not None else radius * 0.1

    def top(self, u):
        d = self.radius ** 2 - (u - self.centre) ** 2
        return self.spring + math.sqrt(max(0.0, d))

    def holds(self, u, y, margin=0.0):
        if y < self.base or abs(u - self.centre) > self.radius + (margin if y > self.spring else 0):
            return False
        return y < self.spring or math.hypot(u - self.centre, y - self.spring) < self.radius + margin


def wall(scene, origin, along, normal, u0, u1, y0, y1, thick, arches=(), block=(3.4, 1.5), casts=True, **look):
    """A wall with arched openings: face, ring of voussoirs, soffit and jambs of each arch."""
    inward = (-normal[0], -normal[1], -normal[2])
    at = lambda u, y, d=0.0: add(add(add(origin, along, u), UP, y), inward, d)
    marks = {u0, u1}
    for arch in arches:
        marks.update(arch.centre - arch.radius * math.cos(math.pi * i / 28) for i in range(29))
    marks = sorted(m for m in marks if u0 <= m <= u1)
    strips = []
    for left, right in zip(marks, marks[1:]):
        if right - left < 1e-6:
            continue
        middle, floor = (left + right) / 2, (y0, y0)
        holes = [h for h in arches if abs(middle - h.centre) < h.radius]
        for hole in sorted(holes, key=lambda h: h.base):
            if hole.base > y0:
                strips.append((left, right, floor, (hole.base, hole.base)))
            floor = (hole.top(left), hole.top(right))
        strips.append((left, right, floor, (y1, y1)))
    for depth, owned in ((0.0, True), (thick, False)):
        polygons = [[at(l, f[0], depth), at(r, f[1], depth), at(r, c[1], depth), at(l, c[0], depth)] for l, r, f, c in strips]
        if owned:
            free = lambda u, y: not any(h.holds(u + u0, y + y0, h.ring) for h in arches)
            scene.quad(at(u0, y0), along, UP, u1 - u0, y1 - y0, normal, block, casts, free, polygons, **look)
        else:
            for points in polygons:
                scene.solid(points, -1, casts)
    for arch in arches:
        opening(scene, at, along, normal, arch, thick, y0, casts, **look)


def opening(scene, at, along, normal, arch, thick, y0, casts, **look):
    base, c, r, s = max(arch.base, y0), arch.centre, arch.radius, arch.spring
    point = lambda angle, radius, d=0.0: at(c + radius * math.cos(angle), s + radius * math.sin(angle), d)
    stones = max(9, int(math.pi * r / max(1.3, r * 0.085))) | 1
    step = math.pi / stones
    ring = [(i * step, (i + 1) * step, r, r + arch.ring) for i in range(stones)]
    scene.surface([], lambda u, v: point(u, v), lambda u, v: normal, (r + arch.ring / 2, 1.0), ring, None, casts,
                  angle=math.pi / 2, shares=True)
    curve = [math.pi * i / 28 for i in range(29)]
    soffit = [[point(p, r), point(q, r), point(q, r, thick), point(p, r, thick)] for p, q in zip(curve, curve[1:])]
    rows = max(1, round(thick / max(2.0, r * 0.16)))
    cells = [(i * step, (i + 1) * step, thick * k / rows, thick * (k + 1) / rows) for i in range(stones) for k in range(rows)]
    inward = lambda u, v: add((0, 0, 0), add((along[0] * math.cos(u), along[1], along[2] * math.cos(u)), UP, math.sin(u)), -1)
    scene.surface(soffit, lambda u, v: point(u, r, v), inward, (r, 1.0), cells, None, casts, **look)
    for side in (-1, 1):
        facing = tuple(-side * x for x in along)
        corner = at(c + side * r, base)
        if s - base > 0.2:
            into = tuple(-x for x in normal)
            scene.quad(corner, into, UP, thick, s - base, facing, (2.6, 1.5), casts, **look)
            scene.edge([at(c + side * r, base), at(c + side * r, s)], 1.0)
            scene.edge([at(c + side * r, base, thick), at(c + side * r, s, thick)], 0.7)
    scene.edge([point(t, r) for t in curve], 1.1)
    scene.edge([point(t, r, thick) for t in curve], 0.7)
    scene.edge([point(t, r + arch.ring) for t in curve], 0.6)


def flight(scene, foot, direction, across, width, steps, rise, run, under, rail=True, block=(2.6, 1.3), **look):
    """Steps that climb along `direction`; `under(u)` is how low the masonry below reaches at u metres along."""
    top = lambda u: rise * (min(steps - 1, int(u / run)) + 1)
    at = lambda u, y, w=0.0: add(add(add(foot, direction, u), UP, y), across, w)
    back = tuple(-x for x in direction)
    length = steps * run
    for i in range(steps):
        u, y = i * run, i * rise
        scene.quad(at(u, y), across, UP, width, rise, back, None, **look)
        scene.quad(at(u, y + rise), across, direction, width, run, UP, None, **look)
        scene.edge([at(u, y + rise), at(u, y + rise, width)], 0.8)
        for w in (0.0, width):
            scene.edge([at(u, y, w), at(u, y + rise, w), at(u + run, y + rise, w)], 0.6)
    low = min(under(length * k / 40) for k in range(41))
    for w, sign in ((0.0, -1), (width, 1)):
        columns = []
        for i in range(steps):
            for part in range(2):
                u, v = (i + part / 2) * run, (i + part / 2 + 0.5) * run
                columns.append([at(u, under(u), w), at(v, under(v), w), at(v, top(i * run + 1e-6), w), at(u, top(i * run + 1e-6), w)])
        scene.quad(at(0, low, w), direction, UP, length, top(length) - low, tuple(sign * x for x in across), block,
                   inside=lambda u, y: under(u) < y + low < top(u), polygons=columns, **look)
        scene.edge([at(length * k / 40, under(length * k / 40), w) for k in range(41)], 0.7)
    soffit = [[at(length * k / 20, under(length * k / 20)), at(length * (k + 1) / 20, under(length * (k + 1) / 20)),
               at(length * (k + 1) / 20, under(length * (k + 1) / 20), width), at(length * k / 20, under(length * k / 20), width)] for k in range(20)]
    scene.surface(soffit, lambda u, v: at(u, under(u), v), lambda u, v: DOWN, (1.0, 1.0),
                  [(length * k / 10, length * (k + 1) / 10, 0.0, width) for k in range(10)], **look)
    if rail:
        for w in (0.1, width - 0.1):
            balustrade(scene, [at(i * run + run / 2, (i + 1) * rise, w) for i in range(0, steps)], 1.05)


def balustrade(scene, feet, height, weight=0.8):
    lift = lambda p, h: (p[0], p[1] + h, p[2])
    scene.threads.append(("rail", [lift(p, height) for p in feet], weight))
    scene.threads.append(("rail", [lift(p, height * 0.55) for p in feet], weight * 0.6))
    for p in feet[::2]:
        scene.threads.append(("rail", [p, lift(p, height)], weight * 0.8))


def between(p, q, n):
    return [tuple(p[k] + (q[k] - p[k]) * i / n for k in range(3)) for i in range(n + 1)]


def sag(p, q, drop, n=24):
    return [(x, y - drop * 4 * (i / n) * (1 - i / n), z) for i, (x, y, z) in enumerate(between(p, q, n))]


# ---- light ----
class ShadowMap:
    SIZE, SPAN = 1500, 240.0

    def __init__(self, polygons):
        self.x_axis = unit((LIGHT[2], 0.0, -LIGHT[0]))
        self.y_axis = (LIGHT[1] * self.x_axis[2] - LIGHT[2] * self.x_axis[1],
                       LIGHT[2] * self.x_axis[0] - LIGHT[0] * self.x_axis[2],
                       LIGHT[0] * self.x_axis[1] - LIGHT[1] * self.x_axis[0])
        self.buffer = DepthBuffer(self.SIZE, self.SIZE)
        for points, _, casts in polygons:
            if casts:
                self.buffer.fill([self._place(p) for p in points], 0)

    def _place(self, p):
        q = add(p, (15.0, 10.0, 75.0), -1)
        k = self.SIZE / self.SPAN
        return self.SIZE / 2 + k * dot(q, self.x_axis), self.SIZE / 2 + k * dot(q, self.y_axis), 1000.0 + dot(q, LIGHT)

    def lit(self, p):
        x, y, v = self._place(p)
        ix, iy = int(x), int(y)
        if not (0 <= ix < self.SIZE and 0 <= iy < self.SIZE):
            return 1.0
        return 1.0 if self.buffer.value[iy * self.SIZE + ix] < v + 0.35 else 0.0


def smooth(low, high, x):
    t = min(1.0, max(0.0, (x - low) / (high - low)))
    return t * t * (3 - 2 * t)


def vignette(x, y):
    return (1 - smooth(392, 440, y)) * smooth(4, 40, x) * (1 - smooth(WIDTH - 40, WIDTH - 4, x)) * smooth(0, 14, y)


class Tone:
    def __init__(self, shadows):
        self.shadows = shadows

    # Openings, out of the picture in the plane a = -40, that the light falls through: b from, b to, y from, y to.
    WINDOWS = ((-18, -11, 58, 82), (-8, 23, 18, 76), (29, 53, 40, 88), (57, 66, 30, 74))

    def daylight(self, p):
        t = abs((-40 - p[0]) / LIGHT[0])
        y, b, most = p[1] + t * LIGHT[1], p[2] + t * LIGHT[2], 0.0
        for b0, b1, y0, y1 in self.WINDOWS:
            middle, half = (b0 + b1) / 2, (b1 - b0) / 2
            head = y1 - half + math.sqrt(max(0.0, half * half - (b - middle) ** 2))
            edge = min(half - abs(b - middle), y - y0, head - y)
            most = max(most, smooth(-0.9, 0.9, edge))
        return most

    def direct(self, p, normal):
        facing = dot(normal, LIGHT)
        if facing <= 0:
            return 0.0
        day = self.daylight(p)
        return facing ** 0.7 * day * self.shadows.lit(add(p, normal, 0.3)) if day else 0.0

    @staticmethod
    def lamp(p, normal):
        to = add(LAMP, p, -1)
        far = math.sqrt(dot(to, to))
        return max(0.0, dot(to, normal) / far) * 14.0 / (far * far + 14.0) if far < 22 else 0.0

    def at(self, p, normal, z):
        ambient = 0.13 + 0.05 * max(0.0, normal[1]) + 0.08 * max(0.0, -normal[0]) - 0.06 * max(0.0, normal[0])
        value = ambient + 1.05 * self.direct(p, normal)
        value += self.lamp(p, normal)
        mist = 1 - math.exp(-max(0.0, z - 52) / 70.0)
        return value * (1 - 0.5 * mist) + 0.92 * mist * mist + 0.1 * mist


# ---- the plate ----
# Which of 16 neighbouring lines go first when the light fades: any first n of them lie evenly.
ORDER = [int(f"{i:04b}"[::-1], 2) / 16 + 0.02 for i in range(16)]


class Plate:
    """Strokes by tint and width, in tenths of a pixel."""
    WIDTHS = (0.32, 0.45, 0.6, 0.8, 1.05, 1.4)

    def __init__(self):
        self.strokes, self.over, self.people = {}, [], []

    def stroke(self, points, width, tint):
        index = min(range(len(self.WIDTHS)), key=lambda i: abs(self.WIDTHS[i] - width))
        self.strokes.setdefault((tint, index), []).append(points)

    @staticmethod
    def data(lines):
        out, px, py = [], 0, 0
        for points in lines:
            last = None
            for x, y in points:
                x, y = round(x * 10), round(y * 10)
                if last is not None and (x, y) == (px, py):
                    continue
                dx, dy = x - px, y - py
                out.append(("m" if last is None else "l" if last == "m" else "" if dx < 0 else " ") + f"{dx}{'' if dy < 0 else ' '}{dy}")
                last = "m" if last is None else "l"
                px, py = x, y
        return "".join(out)


def tint(z):
    """The middle distance is greyer; the far end of the nave is in full light again."""
    return 1 if 62 < z < 105 else 0


class Engraver:
    def __init__(self, scene):
        self.scene, self.plate = scene, Plate()
        self.depth = DepthBuffer(WIDTH, HEIGHT)
        for points, owner, _ in scene.polygons:
            flat = clip_near([to_camera(p) for p in points])
            if len(flat) > 2:
                self.depth.fill([(CENTRE_X + FOCAL * x / z, HORIZON - FOCAL * y / z, 1 / z) for x, y, z in flat], owner)
        self.tone = Tone(ShadowMap(scene.polygons))

    def seen(self, x, y, z, owner=None, slack=0.006):
        ix, iy = int(x), int(y)
        if not (0 <= ix < WIDTH and 0 <= iy < HEIGHT):
            return False
        i = iy * WIDTH + ix
        return (owner is not None and self.depth.owner[i] == owner) or 1 / z >= self.depth.value[i] * (1 - slack)

    # -- hatching --
    def hatch_all(self):
        for index, surface in enumerate(self.scene.surfaces):
            owner = None if surface.shares else index
            for cell in surface.cells:
                self.hatch_cell(surface, owner, cell)

    def hatch_cell(self, surface, owner, cell):
        u, v = (cell[0] + cell[1]) / 2, (cell[2] + cell[3]) / 2
        p, normal = surface.at(u, v), surface.normal(u, v)
        if to_camera(p)[2] < 1.5 and to_camera(surface.at(cell[0], cell[2]))[2] < 1.5:
            return
        if dot(normal, add(p, CAMERA, -1)) > 0:
            return
        x, y, z = project(p)
        half = (cell[1] - cell[0]) * surface.scale[0] / 2, (cell[3] - cell[2]) * surface.scale[1] / 2
        reach = math.hypot(*half) * FOCAL / z
        if not (-reach < x < WIDTH + reach and -reach < y < HEIGHT + reach):
            return
        shade = max(0.4, rng.gauss(1.0, 0.11))
        for layer, turn in enumerate((0.0, math.radians(52), math.radians(-58))):
            angle = surface.angle + turn + rng.gauss(0, 0.045)
            self.hatch_layer(surface, owner, (u, v), half, angle, layer, shade)

    def hatch_layer(self, surface, owner, centre, half, angle, layer, shade):
        (u, v), (su, sv), c, s = centre, surface.scale, math.cos(angle), math.sin(angle)
        place = lambda along, across: (u + (along * c - across * s) / su, v + (along * s + across * c) / sv)
        x, y, z = project(surface.at(u, v))
        e = 0.02
        xa, ya, _ = project(surface.at(*place(e, 0)))
        xn, yn, _ = project(surface.at(*place(0, e)))
        ax, ay, nx, ny = (xa - x) / e, (ya - y) / e, (xn - x) / e, (yn - y) / e
        length = math.hypot(ax, ay)
        apart = abs(ax * ny - ay * nx) / max(length, 1e-6)
        if apart < 0.04 or length < 0.2:
            return
        fine = (1.6, 2.2, 2.2)[layer]
        step, gap = fine / apart, 0.45 / max(length, apart)
        hu, hv = max(half[0] - gap, half[0] * 0.7), max(half[1] - gap, half[1] * 0.7)
        count = min(90, int(math.hypot(hu, hv) / step) + 1)
        start = rng.randrange(16)
        for k in range(-count, count + 1):
            across = (k + rng.uniform(-0.16, 0.16)) * step
            span = clip_line(-across * s, across * c, c, s, hu, hv)
            if span is None:
                continue
            self.hatch_line(surface, owner, place, across, span, length, (layer, ORDER[(k + start) % 16], fine, shade))

    def hatch_line(self, surface, owner, place, across, span, length, rule):
        layer, order, fine, shade = rule
        t0, t1 = span
        n = max(2, int((t1 - t0) * length / 3.0) + 1)
        if n > 400:
            return
        run, weights, depth = [], [], 0.0
        for i in range(n + 1):
            uv = place(t0 + (t1 - t0) * i / n, across)
            width, x, y, z = self.line_width(surface, owner, uv, layer, order, fine, shade)
            if width:
                run.append((x, y))
                weights.append(width)
                depth = z
            if (not width or i == n) and run:
                self.lay(run, sum(weights) / len(weights), depth)
                run, weights = [], []

    def line_width(self, surface, owner, uv, layer, order, fine, shade):
        if surface.inside and not surface.inside(*uv):
            return 0, 0, 0, 1
        p = surface.at(*uv)
        x, y, z = project(p)
        if not self.seen(x, y, z, owner):
            return 0, x, y, z
        light = vignette(x, y) * shade
        if light < 0.03:
            return 0, x, y, z
        tone = self.tone.at(p, surface.normal(*uv), z) * light
        cover = (min(0.5, 0.62 * tone), 0.36 * (tone - 0.40), 0.30 * (tone - 0.84))[layer]
        if cover < 0.018:
            return 0, x, y, z
        width = 0.28 + 0.8 * cover
        share = cover * fine / width  # of the lines, to reach this cover with this width
        return (max(width, cover * fine) if order < share else 0), x, y, z

    def lay(self, run, width, z):
        length = math.hypot(run[-1][0] - run[0][0], run[-1][1] - run[0][1])
        if length < 2.2:
            return
        kept = [run[0]] + [run[i] for i in range(5, len(run) - 3, 5)] + [run[-1]]
        kept = straighten(kept)
        if len(kept) == 2 and length > 14:
            (x0, y0), (x1, y1) = kept
            t, bow = rng.uniform(0.35, 0.65), rng.gauss(0, 0.35)
            kept.insert(1, (x0 + (x1 - x0) * t - (y1 - y0) / length * bow, y0 + (y1 - y0) * t + (x1 - x0) / length * bow))
        self.plate.stroke(kept, width, tint(z))

    # -- contours --
    def draw_edges(self):
        for points, weight in self.scene.edges:
            self.contour(points, weight)

    def contour(self, points, weight, slack=0.012, floor=0.35):
        for part in self.visible(points, slack):
            if math.hypot(part[0][0] - part[-1][0], part[0][1] - part[-1][1]) < 3.5 and len(part) < 5:
                continue
            x, y, z = part[len(part) // 2][:3]
            p = part[len(part) // 2][3]
            lit = self.tone.shadows.lit(add(p, LIGHT, 0.5))
            strength = weight * (floor + 0.65 * lit) * (0.75 if z > 62 else 1.0)
            line = [(a + rng.gauss(0, 0.16), b + rng.gauss(0, 0.16)) for a, b, _, _ in part]
            line = [line[0]] + line[3:-2:3] + [line[-1]]
            self.plate.stroke(straighten(line, 0.12), strength, tint(z))

    def visible(self, points, slack, margin=0.05):
        parts, run = [], []
        for p, q in zip(points, points[1:]):
            x0, y0, z0 = project(p)
            x1, y1, z1 = project(q)
            if to_camera(p)[2] < 1 or to_camera(q)[2] < 1:
                continue
            n = max(1, min(400, int(math.hypot(x1 - x0, y1 - y0) / 3)))
            for i in range(n + 1):
                r = tuple(p[k] + (q[k] - p[k]) * i / n for k in range(3))
                x, y, z = project(r)
                if self.seen(x, y, z, None, slack) and vignette(x, y) > margin + rng.uniform(0, 0.3):
                    run.append((x, y, z, r))
                else:
                    if len(run) > 1:
                        parts.append(run)
                    run = []
        if len(run) > 1:
            parts.append(run)
        return parts

    # -- what hangs and what stands: chains, ropes, rails, people --
    def draw_threads(self):
        for kind, points, weight in self.scene.threads:
            for part in self.visible(points, 0.012, 0.12):
                line = straighten([part[0][:2]] + [q[:2] for q in part[2:-2:2]] + [part[-1][:2]], 0.25)
                p, z = part[len(part) // 2][3], part[len(part) // 2][2]
                lit = self.tone.daylight(p) if kind == "rail" else 1.0
                self.plate.over.append((kind, weight * (0.55 + 0.45 * lit) * (0.8 if z > 62 else 1.0), line, tint(z)))

    def draw_people(self):
        for foot, pose, turn in self.scene.people:
            x, y, z = project(foot)
            middle = project((foot[0], foot[1] + 1.0, foot[2]))
            if self.seen(middle[0], middle[1], z, None, 0.02) and vignette(x, y) > 0.3:
                self.plate.people.append((x, y, FOCAL * 1.8 / z, pose, turn, tint(z)))



def clip_line(x0, y0, dx, dy, hx, hy):
    low, high = -1e9, 1e9
    for p, d, h in ((x0, dx, hx), (y0, dy, hy)):
        if abs(d) < 1e-9:
            if abs(p) > h:
                return None
            continue
        a, b = (-h - p) / d, (h - p) / d
        low, high = max(low, min(a, b)), min(high, max(a, b))
    return (low, high) if high > low else None


def straighten(points, tolerance=0.3):
    """Douglas and Peucker."""
    if len(points) < 3:
        return list(points)
    (x0, y0), (x1, y1) = points[0], points[-1]
    n = math.hypot(x1 - x0, y1 - y0) or 1e-9
    worst, at = 0.0, 0
    for i in range(1, len(points) - 1):
        d = abs((x1 - x0) * (points[i][1] - y0) - (y1 - y0) * (points[i][0] - x0)) / n
        if d > worst:
            worst, at = d, i
    if worst <= tolerance:
        return [points[0], points[-1]]
    return straighten(points[:at + 1], tolerance)[:-1] + straighten(points[at:], tolerance)


# ---- the prison ----
def plank(scene, p, q, across, width, thick, **look):
    """A straight timber from p to q, p and q on its top."""
    along = unit(add(q, p, -1))
    length = math.sqrt(dot(add(q, p, -1), add(q, p, -1)))
    up = (along[1] * across[2] - along[2] * across[1], along[2] * across[0] - along[0] * across[2], along[0] * across[1] - along[1] * across[0])
    up = up if up[1] >= 0 else tuple(-x for x in up)
    low = add(p, up, -thick)
    for origin, side, extent, normal in ((low, up, thick, tuple(-x for x in across)), (add(low, across, width), up, thick, across),
                                         (low, across, width, tuple(-x for x in up)), (p, across, width, up)):
        scene.quad(origin, along, side, length, extent, normal, (2.2, extent), **look)
        scene.edge([origin, add(origin, along, length)], 0.9)
    scene.edge([p, low, add(low, across, width), add(p, across, width), p], 0.8)
    end = add(q, along, 0)
    scene.edge([end, add(end, up, -thick), add(add(end, up, -thick), across, width), add(end, across, width), end], 0.8)


def drum(scene, a, b, radius, y0, y1, block, **look):
    """A round wall, standing."""
    at = lambda u, v: (a + radius * math.cos(u), v, b + radius * math.sin(u))
    turn = [2 * math.pi * i / 36 for i in range(37)]
    stones = max(8, round(2 * math.pi * radius / block[0]))
    rows = max(1, round((y1 - y0) / block[1]))
    cells = []
    for row in range(rows):
        for i in range(stones):
            u = 2 * math.pi * (i + 0.5 * (row % 2)) / stones
            cells.append((u, u + 2 * math.pi / stones, y0 + (y1 - y0) * row / rows, y0 + (y1 - y0) * (row + 1) / rows))
    scene.surface([[at(p, y0), at(q, y0), at(q, y1), at(p, y1)] for p, q in zip(turn, turn[1:])], at,
                  lambda u, v: (math.cos(u), 0.0, math.sin(u)), (radius, 1.0), cells, **look)
    for y, normal in ((y0, DOWN), (y1, UP)):
        flat = lambda u, v, y=y: (a + v * math.cos(u), y, b + v * math.sin(u))
        scene.surface([[(a, y, b), flat(p, radius), flat(q, radius)] for p, q in zip(turn, turn[1:])], flat,
                      lambda u, v, n=normal: n, (radius * 0.7, 1.0), [(p, q, radius * 0.3, radius) for p, q in zip(turn[::3], turn[3::3])], angle=math.pi / 2)
        scene.edge([flat(u, radius) for u in turn], 0.8)
    eye = math.atan2(-b, -a)
    for side in (-1, 1):  # the outline
        u = eye + side * math.acos(radius / math.hypot(a, b))
        scene.edge([at(u, y0), at(u, y1)], 1.0)


def winding_stair(scene, a, b, inner, outer, y0, steps, rise, start, per_turn):
    point = lambda u, radius, y: (a + radius * math.cos(u), y, b + radius * math.sin(u))
    for i in range(steps):
        u, v, y = start + 2 * math.pi * i / per_turn, start + 2 * math.pi * (i + 1) / per_turn, y0 + rise * i
        m, low = (u + v) / 2, y - 0.75
        top = [point(u, inner, y), point(u, outer, y), point(v, outer, y), point(v, inner, y)]
        for height, normal in ((y, UP), (low, DOWN)):
            scene.surface([[(p[0], height, p[2]) for p in top]], lambda s, t, h=height: point(s, t, h), lambda s, t, n=normal: n,
                          (outer, 1.0), [(u, v, inner, outer)], angle=math.pi / 2)
        scene.surface([[point(u, outer, low), point(v, outer, low), point(v, outer, y), point(u, outer, y)]], lambda s, t: point(s, outer, t),
                      lambda s, t: (math.cos(s), 0.0, math.sin(s)), (outer, 1.0), [(u, v, low, y)])
        riser = (math.sin(u), 0.0, -math.cos(u))
        scene.quad(point(u, inner, low), (math.cos(u), 0.0, math.sin(u)), UP, outer - inner, y - low, riser)
        scene.edge([point(u, inner, y), point(u, outer, y), point(v, outer, y)], 0.7)
        scene.edge([point(u, outer, low), point(v, outer, low)], 0.6)
        scene.edge([point(u, outer, y - rise), point(u, outer, y)], 0.6)
        if i % 2 == 0:
            scene.threads.append(("rail", [point(m, outer, y), point(m, outer, y + 1.0)], 0.6))
    scene.threads.append(("rail", [point(start + 2 * math.pi * (i + 0.5) / per_turn, outer, y0 + rise * i + 1.0) for i in range(steps)], 0.8))


def wheel(scene, centre, radius, spokes):
    lean = unit((1.0, 0.0, 0.3))
    at = lambda t, r: add(add(centre, lean, r * math.cos(t)), UP, r * math.sin(t))
    facing = (lean[2], 0.0, -lean[0])
    turn = [2 * math.pi * i / 36 for i in range(37)]
    for inner, outer in ((0.84, 1.0), (0.0, 0.2)):
        rim = [[at(p, radius * inner), at(p, radius * outer), at(q, radius * outer), at(q, radius * inner)] for p, q in zip(turn, turn[1:])]
        cells = [(p, q, radius * inner, radius * outer) for p, q in zip(turn[::3], turn[3::3])]
        scene.surface(rim, at, lambda u, v: facing, (radius, 1.0), cells)
        scene.edge([at(t, radius * outer) for t in turn], 0.9)
        scene.edge([at(t, radius * inner) for t in turn], 0.7)
    for i in range(spokes):
        t = 2 * math.pi * (i + 0.3) / spokes
        for d in (-0.035, 0.035):
            scene.threads.append(("rail", [at(t + d * 4, radius * 0.2), at(t + d, radius * 0.84)], 0.6))
            scene.threads.append(("rail", [at(t + d, radius), at(t + d * 0.4, radius * 1.2)], 0.6))


def build():
    scene = Scene()
    who = lambda a, y, b, pose=0, turn=1: scene.people.append(((a, y, b), pose, turn))

    # The great arch and, to the right in the same wall, the aisle's.
    wall(scene, (0, 0, 42), RIGHT, NEAR, -60, 120, -40, 60, 8,
         [Arch(2, 24, 3.5, 0, ring=2.4), Arch(60, 16, 9, 0, ring=1.8), Arch(35, 1.6, 16.3, 14.2, ring=.5), Arch(40, 1.5, 25.2, 23.2, ring=.5)], block=(4.0, 1.8), casts=False)
    scene.box(26, 44, 2.6, 3.6, 41.2, 42, (3, 1))
    scene.box(27, 60, 22.3, 23.2, 39.8, 42, (3, 1))
    for a in range(28, 60, 4):
        scene.box(a, a + 0.9, 20.6, 22.3, 40.4, 42, None, outline=0.6)
    balustrade(scene, between((27, 23.2, 39.9), (60, 23.2, 39.9), 26), 1.1)
    # The nave behind it, bay after bay.
    tiers = lambda: [Arch(c, 4.3, s, s - 7, ring=.9) for s in (7, 23) for c in (8, 20)]
    wall(scene, (26, 0, 50), DEEP, LEFT, 0, 28, -40, 70, 6, tiers(), block=(3.0, 1.5))
    wall(scene, (-22, 0, 50), DEEP, RIGHT, 0, 28, -40, 70, 6, tiers(), block=(3.0, 1.5), casts=False)
    wall(scene, (0, 0, 78), RIGHT, NEAR, -60, 80, -40, 80, 7,
         [Arch(2, 16, 10, ring=1.8)] + [Arch(2 + 9 * i, 2.8, 37, 32, ring=.7) for i in range(-2, 3)], block=(3.6, 1.8), casts=False)
    wall(scene, (0, 0, 130), RIGHT, NEAR, -60, 80, -40, 90, 9, [Arch(2, 13, 11, ring=1.6)], block=(5, 2.6), casts=False)
    wall(scene, (0, 0, 190), RIGHT, NEAR, -90, 90, -40, 90, 9, [Arch(2, 9, 14, ring=1.6)], block=(7, 3.6), casts=False)
    scene.quad((-60, 0, 290), RIGHT, UP, 120, 80, NEAR, (12, 6), False)
    scene.quad((-60, 0, 42), RIGHT, DEEP, 150, 250, UP, (6, 3), False)
    # A stone bridge over the nave, and a stair along its right wall.
    wall(scene, (0, 0, 60), RIGHT, NEAR, -22, 26, 4, 14.6, 4, [Arch(2, 25, -12, ring=1.2)], block=(3, 1.3))
    balustrade(scene, between((-22, 14.6, 60), (26, 14.6, 60), 40), 1.1, 0.6)
    flight(scene, (21.5, 0, 51), DEEP, RIGHT, 4.4, 30, .4, .9, lambda u: -1 if u < 5 else max(-1, u * .44 - 3.2), rail=False)
    # Behind the aisle's arch.
    wall(scene, (0, 0, 72), RIGHT, NEAR, 40, 150, -40, 60, 6, [Arch(66, 8, 9, -4, ring=1.2), Arch(92, 8, 9, -4, ring=1.2)], block=(3.6, 1.8), casts=False)

    # Piers that frame the view.
    scene.box(41, 60, -40, 60, 19, 26, (3.0, 1.5))
    scene.box(-30, -13.2, -40, 60, 22, 27, (3.0, 1.5), casts=False)

    # First flight, landing, and the two flights that go on from it.
    vault = Arch(22, 4.0, 4.0)
    flight(scene, (-4, -5, 26), RIGHT, DEEP, 6, 40, .35, .72, lambda u: vault.top(u) if abs(u - 22) < 4 else -40)
    for i in range(1, 9):
        u = 18 + 8 * i / 9
        scene.threads.append(("rail", [(u - 4, -8, 26.8), (u - 4, vault.top(u) - 5, 26.8)], 0.9))
    for y in (-2.4, -0.6, 1.2):
        scene.threads.append(("rail", [(14.2, y, 26.8), (21.8, y, 26.8)], 0.8))
    scene.box(24.8, 31.5, -40, 9, 26, 32.5, (2.6, 1.3))
    flight(scene, (26, 9, 32.5), DEEP, RIGHT, 4.5, 16, .33, .6, lambda u: -40)
    scene.box(26, 44, 13.5, 14.2, 40, 42, (2.6, .7))
    balustrade(scene, between((31, 14.2, 40.1), (44, 14.2, 40.1), 12), 1.1)
    hollow = Arch(7, 6.2, -3.2)
    flight(scene, (31.5, 9, 26.6), RIGHT, DEEP, 4.2, 17, .36, .62, lambda u: -5.2 + hollow.top(u) if abs(u - 7) < 6.2 else -9)

    # A round tower with a stair about it, and the drawbridge that does not reach it.
    drum(scene, -12, 36, 3.4, -40, 34, (2.2, 1.3))
    winding_stair(scene, -12, 36, 3.4, 5.7, -8, 50, .45, -2.2, 23)
    drum(scene, -12, 36, 5.9, 14.6, 15.6, (2.2, 1.0))
    balustrade(scene, [(-12 + 5.8 * math.cos(2 * math.pi * i / 40), 15.6, 36 + 5.8 * math.sin(2 * math.pi * i / 40)) for i in range(41)], 1.1)
    plank(scene, (26, 14.2, 38.6), (6, 17.8, 38.6), DEEP, 2.6, .5)
    for b in (38.7, 41.1):
        balustrade(scene, between((26, 14.2, b), (6, 17.8, b), 16), 1.1)
        scene.threads.append(("chain", [(7, 17.6, b), (5, 30, b)], 1.0))
        scene.threads.append(("chain", [(16, 16, b), (15, 30, b)], 1.0))

    # A beam at the right that a lamp hangs from, ropes, and a windlass before the nave.
    plank(scene, (41, 14, 22), (30, 18.6, 22), DEEP, .8, .9)
    plank(scene, (41, 9.5, 22.1), (35, 16, 22.1), DEEP, .6, .6)
    thread = lambda kind, weight, *points: scene.threads.append((kind, list(points), weight))
    thread("chain", 1.0, (30.3, 18, 22.4), (30.3, 14.3, 22.4))
    thread("rope", 0.8, (30.5, 18.7, 22.2), (28.6, 10.9, 27))
    scene.threads.append(("rope", sag((30.4, 18.6, 22.4), (5, 33, 41), 5), 1.0))
    scene.threads.append(("rope", sag((-13.2, 17, 23), (4, 33, 41), 4), 1.0))
    scene.threads.append(("rope", sag((-13.2, 12, 23), (-3, 4.2, 22), 2), 0.9))
    for a in (-5.4, -1.0):
        plank(scene, (a, -4, 22.8), (-3.2, 2.9, 22.8), DEEP, .5, .5)
    wheel(scene, (-3, 2.2, 22), 2.1, 10)
    scene.threads.append(("chain", sag((-13.1, 13.5, 23), (-13.1, 13, 26.4), 1.6), 1.0))
    scene.threads.append(("chain", sag((-13.1, 6.5, 23), (-13.1, 7, 26.4), 1.4), 1.0))

    step = lambda i, b: (-4 + 0.72 * i + 0.36, -5 + 0.35 * (i + 1), b)
    who(*step(21, 29), 3, 1)
    who(*step(22.2, 30.5), 0, 1)
    who(*step(33, 28), 1, -1)
    who(28.4, 9, 27, 2, 1)
    who(30.6, 9, 31, 0, -1)
    who(28, 11.6, 37, 3, -1)
    who(7.2, 17.6, 39.6, 1, -1)
    who(10, 17, 40.6, 0, 1)
    who(21, 15.1, 39.4, 3, -1)
    who(34.9, 11.16, 28, 3, 1)
    who(-9, 15.6, 32.5, 1, 1)
    who(-11, 15.6, 31.2, 0, 1)
    who(33.5, 14.2, 41, 0, 1)
    who(46, 23.2, 40.8, 0, 1)
    who(49, 23.2, 40.8, 1, -1)
    for a in (-8, -6.6, 5, 13):
        who(a, 14.6, 61.5, a == 5, 1)
    who(8, 0, 70, 0, 1)
    who(10, 0, 72, 0, 1)
    who(-3, 0, 95, 0, 1)
    who(3, 0, 110, 0, 1)
    return scene


FIGURES = (  # outline of a person one unit tall, then the part the light falls on; a pose each
    ([(-.15, 0), (-.17, .2), (-.13, .45), (-.13, .66), (-.05, .8), (.05, .8), (.13, .66), (.12, .45), (.18, .15), (.16, 0)],
     [(-.15, 0), (-.17, .2), (-.13, .45), (-.13, .66), (-.05, .8), (.02, .8), (-.03, .5), (.01, .2), (-.02, 0)]),
    ([(-.14, 0), (-.16, .2), (-.12, .45), (-.13, .66), (-.05, .8), (.05, .8), (.14, .75), (.4, .93), (.41, .88), (.16, .64), (.12, .45), (.18, .15), (.16, 0)],
     [(-.14, 0), (-.16, .2), (-.12, .45), (-.13, .66), (-.05, .8), (.05, .8), (.14, .75), (.4, .93), (.41, .89), (.12, .68), (-.02, .5), (.01, .2), (-.02, 0)]),
    ([(-.2, 0), (-.1, .4), (-.1, .66), (-.03, .8), (.06, .82), (.2, 1.12), (.25, 1.1), (.16, .8), (.27, 1.02), (.31, .99), (.14, .62), (.12, .42), (.22, 0), (.12, 0), (.03, .32), (-.08, 0)],
     [(-.2, 0), (-.1, .4), (-.1, .66), (-.03, .8), (.06, .82), (.2, 1.12), (.24, 1.1), (.08, .7), (.0, .4), (-.08, 0)]),
    ([(-.24, .02), (-.08, .4), (-.06, .62), (.02, .8), (.12, .82), (.2, .66), (.34, .56), (.32, .51), (.18, .56), (.14, .42), (.22, .2), (.2, .0), (.1, 0), (.1, .18), (.02, .34), (-.16, 0)],
     [(-.24, .02), (-.08, .4), (-.06, .62), (.02, .8), (.12, .82), (.08, .6), (.04, .38), (-.16, 0)]),
)


def figure(x, y, tall, pose, turn, tint):
    outline, lit = FIGURES[int(pose)]
    place = lambda points: "M" + " ".join(f"{x + turn * px * tall:.1f} {y - py * tall:.1f}" for px, py in points) + "z"
    head = x + turn * (0.02 + 0.08 * (pose == 3)) * tall, y - 0.89 * tall
    colour = (BONE, MIST)[tint]
    return (f'<path d="{place(outline)}" fill="#000" stroke="#000" stroke-width="2.4"/><path d="{place(outline)}" fill="#000" stroke="{colour}" stroke-width=".5"/>'
            f'<path d="{place(lit)}" fill="{colour}"/><circle cx="{head[0]:.1f}" cy="{head[1]:.1f}" r="{0.068 * tall:.1f}" fill="{colour}" stroke="#000" stroke-width=".6"/>')


def lantern():
    x, y, z = project(LAMP)
    k = FOCAL / z / 18
    at = lambda dx, dy: f"{x + dx * k:.1f} {y + dy * k:.1f}"
    frame = f"M{at(-7, -10)} L{at(0, -17)} L{at(7, -10)} L{at(6, 11)} L{at(-6, 11)} Z"
    return (f'<path d="{frame}" fill="#000" stroke="#000" stroke-width="4"/><path d="M{at(-4.6, -8)} L{at(4.6, -8)} L{at(4, 9)} L{at(-4, 9)} Z" fill="{EMBER}"/>'
            f'<path d="{frame} M{at(-7, -10)} L{at(7, -10)} M{at(-8, 11)} L{at(8, 11)} M{at(0, -17)} L{at(0, -21)}" fill="none" stroke="{BONE}" stroke-width="1"/>')


def render(engraver):
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="Deadman: an imaginary prison, one lamp burning">',
           "<!-- Drawn by docs/masthead.py for this project, by the Deadman authors, after the manner of Piranesi's Carceri. -->",
           f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#000"/>', '<g transform="scale(.1)" fill="none" stroke-linecap="round" stroke-linejoin="round">']
    plate = engraver.plate
    for (tint, index), lines in sorted(plate.strokes.items()):
        out.append(f'<path stroke="{(BONE, MIST)[tint]}" stroke-width="{Plate.WIDTHS[index] * 10:g}" d="{Plate.data(lines)}"/>')
    out.append(f'<path stroke="#000" stroke-width="24" d="{Plate.data([line for _, _, line, _ in plate.over])}"/>')
    for style in sorted({(kind, round(weight, 1), tint) for kind, weight, _, tint in plate.over}):
        kind, weight, tint = style
        data = Plate.data([line for k, w, line, t in plate.over if (k, round(w, 1), t) == style])
        colour = (BONE, MIST)[tint]
        if kind == "chain":
            out.append(f'<path stroke="{colour}" stroke-width="26" stroke-dasharray="26 40" d="{data}"/><path stroke="#000" stroke-width="10" stroke-dasharray="26 40" d="{data}"/>'
                       f'<path stroke="{colour}" stroke-width="8" stroke-dasharray="40 26" stroke-dashoffset="-26" d="{data}"/>')
        else:
            out.append(f'<path stroke="{colour}" stroke-width="{weight * 10:.0f}" d="{data}"/>')
    out.append("</g>")
    out += [figure(*person) for person in plate.people]
    out.append(lantern())
    for i, letter in enumerate("DEADMAN"):
        out.append(f'<text x="{CENTRE_X + 78 * (i - 3):g}" y="463" text-anchor="middle" font-family="ui-monospace,Menlo,Consolas,monospace" font-size="23" fill="{BONE}">{letter}</text>')
    return "\n".join(out + ["</svg>"]) + "\n"


def main():
    scene = build()
    engraver = Engraver(scene)
    engraver.hatch_all()
    engraver.draw_edges()
    engraver.draw_threads()
    engraver.draw_people()
    sys.stdout.write(render(engraver))


if __name__ == "__main__":
    main()
