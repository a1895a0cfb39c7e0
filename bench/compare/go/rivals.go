// River (Postgres, SQLite) and Asynq under the protocol of ../README.md.
package main

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"sort"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hibiken/asynq"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/redis/go-redis/v9"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/riverdriver/riversqlite"
	"github.com/riverqueue/river/rivermigrate"
	_ "modernc.org/sqlite"
)

var background = context.Background()

// Job carries when it was enqueued, in microseconds; 0 where nobody asks.
type Job struct {
	T   int64  `json:"t"`
	Pad string `json:"pad"`
}

func (Job) Kind() string { return "bench" }

var pad = strings.Repeat("x", 80)

// A rival: what the benchmark asks of a job system.
type rival interface {
	reset()
	insert(Job)
	insertMany([]Job) // at most `chunk()`
	chunk() int
	work(handle func(Job)) (stop func())
	workWithEffect(handle func(Job)) (stop func()) // an insert and the job's end in one transaction
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func micros() int64 { return time.Now().UnixMicro() }

// ---- River -------------------------------------------------------------------------------------

var quiet = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))

type riverRival[T any] struct {
	driver  riverdriver.Driver[T]
	client  *river.Client[T]
	prepare func()
	batch   int
	slots   int
	pool    *pgxpool.Pool
}

// The settings of River's own bench command. The inserting client has the short cooldown too: it also thins NOTIFYs.
func riverConfig() *river.Config {
	return &river.Config{Logger: quiet, FetchCooldown: 2 * time.Millisecond, FetchPollInterval: 20 * time.Millisecond}
}

func newRiver[T any](driver riverdriver.Driver[T], prepare func(), batch, slots int, pool *pgxpool.Pool) *riverRival[T] {
	client, err := river.NewClient(driver, riverConfig())
	check(err)
	return &riverRival[T]{driver, client, prepare, batch, slots, pool}
}

func (r *riverRival[T]) chunk() int { return r.batch }

func (r *riverRival[T]) reset() {
	r.prepare()
	migrator, err := rivermigrate.New(r.driver, &rivermigrate.Config{Logger: quiet})
	check(err)
	_, err = migrator.Migrate(background, rivermigrate.DirectionUp, nil)
	check(err)
	if r.pool != nil {
		_, err = r.pool.Exec(background, "create table if not exists bench_effect(job bigint not null)")
		check(err)
	}
}

func (r *riverRival[T]) insert(job Job) {
	_, err := r.client.Insert(background, job, nil)
	check(err)
}

func (r *riverRival[T]) insertMany(jobs []Job) {
	params := make([]river.InsertManyParams, len(jobs))
	for i, job := range jobs {
		params[i].Args = job
	}
	_, err := r.client.InsertManyFast(background, params)
	check(err)
}

type plainWorker struct {
	river.WorkerDefaults[Job]
	handle func(Job)
}

func (w *plainWorker) Work(_ context.Context, job *river.Job[Job]) error {
	w.handle(job.Args)
	return nil
}

type effectWorker struct {
	river.WorkerDefaults[Job]
	handle func(Job)
	pool   *pgxpool.Pool
}

func (w *effectWorker) Work(ctx context.Context, job *river.Job[Job]) error {
	return pgx.BeginFunc(ctx, w.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "insert into bench_effect(job) values ($1)", job.ID); err != nil {
			return err
		}
		if _, err := river.JobCompleteTx[*riverpgxv5.Driver](ctx, tx, job); err != nil {
			return err
		}
		w.handle(job.Args)
		return nil
	})
}

func (r *riverRival[T]) start(workers *river.Workers, slots int) func() {
	config := riverConfig()
	config.Workers = workers
	config.Queues = map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: slots}}
	client, err := river.NewClient(r.driver, config)
	check(err)
	check(client.Start(background))
	return func() {
		limited, cancel := context.WithTimeout(background, 4*time.Second)
		defer cancel()
		_ = client.StopAndCancel(limited)
	}
}

func (r *riverRival[T]) work(handle func(Job)) func() {
	workers := river.NewWorkers()
	river.AddWorker(workers, &plainWorker{handle: handle})
	return r.start(workers, r.slots)
}

func (r *riverRival[T]) workWithEffect(handle func(Job)) func() {
	workers := river.NewWorkers()
	river.AddWorker(workers, &effectWorker{handle: handle, pool: r.pool})
	return r.start(workers, 100) // more only wait for a connection
}

func riverOnPostgres() rival {
	config, err := pgxpool.ParseConfig(os.Getenv("BENCH_POSTGRES"))
	check(err)
	config.MaxConns = 24
	pool, err := pgxpool.NewWithConfig(background, config)
	check(err)
	clean := func() {
		_, err := pool.Exec(background, "drop schema public cascade; create schema public")
		check(err)
	}
	return newRiver(riverpgxv5.New(pool), clean, 10000, 2000, pool)
}

func riverOnSqlite(command string) rival {
	file := os.Getenv("BENCH_SQLITE")
	if command == "reset" {
		for _, suffix := range []string{"", "-wal", "-shm"} {
			os.Remove(file + suffix)
		}
	}
	database, err := sql.Open("sqlite", "file:"+file+
		"?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=busy_timeout(10000)&_txlock=immediate")
	check(err)
	database.SetMaxOpenConns(1) // as its documentation asks
	return newRiver(riversqlite.New(database), func() {}, 1000, 1000, nil)
}

// ---- Asynq -------------------------------------------------------------------------------------

type asynqRival struct {
	where  asynq.RedisClientOpt
	client *asynq.Client
}

func newAsynq() rival {
	where := asynq.RedisClientOpt{Addr: os.Getenv("BENCH_REDIS"), PoolSize: 128}
	return &asynqRival{where, asynq.NewClient(where)}
}

func (a *asynqRival) chunk() int { return 100000 }

func (a *asynqRival) reset() {
	check(redis.NewClient(&redis.Options{Addr: a.where.Addr}).FlushAll(background).Err())
}

func (a *asynqRival) insert(job Job) {
	payload, _ := json.Marshal(job)
	_, err := a.client.Enqueue(asynq.NewTask("bench", payload))
	check(err)
}

// It has no call for many: many goroutines enqueue.
func (a *asynqRival) insertMany(jobs []Job) {
	var all sync.WaitGroup
	feed := make(chan Job)
	for i := 0; i < 64; i++ {
		all.Add(1)
		go func() {
			defer all.Done()
			for job := range feed {
				a.insert(job)
			}
		}()
	}
	for _, job := range jobs {
		feed <- job
	}
	close(feed)
	all.Wait()
}

func (a *asynqRival) work(handle func(Job)) func() {
	// The check interval is a second by default; an empty queue would then be looked at that seldom.
	server := asynq.NewServer(a.where, asynq.Config{Concurrency: 100, LogLevel: asynq.ErrorLevel, TaskCheckInterval: 5 * time.Millisecond})
	mux := asynq.NewServeMux()
	mux.HandleFunc("bench", func(_ context.Context, task *asynq.Task) error {
		var job Job
		if err := json.Unmarshal(task.Payload(), &job); err != nil {
			return err
		}
		handle(job)
		return nil
	})
	check(server.Start(mux))
	return func() {
		server.Stop()
		go server.Shutdown()
	}
}

func (a *asynqRival) workWithEffect(func(Job)) func() {
	check(fmt.Errorf("asynq has no transactional completion"))
	return nil
}

// ---- the protocol ------------------------------------------------------------------------------

type tally struct {
	count  atomic.Int64
	first  sync.Once
	mutex  sync.Mutex
	delays []float64 // ms
}

func (t *tally) handle(job Job) {
	if job.T != 0 {
		delay := float64(micros()-job.T) / 1000
		t.mutex.Lock()
		t.delays = append(t.delays, delay)
		t.mutex.Unlock()
	}
	t.first.Do(func() { fmt.Printf("F %d\n", micros()) })
	t.count.Add(1)
}

func (t *tally) watch() {
	last := int64(0)
	for range time.Tick(20 * time.Millisecond) {
		if count := t.count.Load(); count != last {
			fmt.Printf("H %d %d\n", count, micros())
			last = count
		}
	}
}

func (t *tally) printEnd() {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	fmt.Printf("H %d %d\n", t.count.Load(), micros())
	end := map[string]any{"n": len(t.delays)}
	if len(t.delays) > 0 {
		sort.Float64s(t.delays)
		at := func(share float64) float64 { return t.delays[int(share*float64(len(t.delays)-1))] }
		end["p50"], end["p95"], end["p99"], end["max"] = at(.5), at(.95), at(.99), at(1)
	}
	text, _ := json.Marshal(end)
	fmt.Printf("L %s\n", text)
}

func argument(index int) int {
	number, err := strconv.Atoi(os.Args[index])
	check(err)
	return number
}

func printRate(jobs int, began time.Time) {
	fmt.Printf("R {\"n\":%d,\"secs\":%.6f}\n", jobs, time.Since(began).Seconds())
}

func enqueue(r rival, producers, jobs int) {
	r.insert(Job{Pad: pad}) // the connection is there
	each := jobs / producers
	began := time.Now()
	var all sync.WaitGroup
	for p := 0; p < producers; p++ {
		all.Add(1)
		go func() {
			defer all.Done()
			for i := 0; i < each; i++ {
				r.insert(Job{Pad: pad})
			}
		}()
	}
	all.Wait()
	printRate(each*producers, began)
}

func bulk(r rival, jobs int) {
	began := time.Now()
	for left := jobs; left > 0; left -= r.chunk() {
		many := make([]Job, min(left, r.chunk()))
		for i := range many {
			many[i].Pad = pad
		}
		r.insertMany(many)
	}
	printRate(jobs, began)
}

func steady(r rival, rate, seconds int) {
	began := time.Now()
	for i := 0; i < rate*seconds; i++ {
		time.Sleep(time.Until(began.Add(time.Duration(i) * time.Second / time.Duration(rate))))
		r.insert(Job{T: micros(), Pad: pad})
	}
	printRate(rate*seconds, began)
}

func work(start func(func(Job)) func()) {
	var counts tally
	go counts.watch()
	stop := start(counts.handle)
	fmt.Println("READY")
	bufio.NewReader(os.Stdin).ReadString(0) // until it is closed
	time.AfterFunc(5*time.Second, func() { os.Exit(0) })
	counts.printEnd()
	stop()
}

func main() {
	name, command := os.Args[1], os.Args[2]
	var r rival
	switch name {
	case "river":
		r = riverOnPostgres()
	case "river-sqlite":
		r = riverOnSqlite(command)
	case "asynq":
		r = newAsynq()
	default:
		check(fmt.Errorf("no rival %q here", name))
	}
	switch command {
	case "reset":
		r.reset()
	case "enqueue":
		enqueue(r, argument(3), argument(4))
	case "bulk":
		bulk(r, argument(3))
	case "rate":
		steady(r, argument(3), argument(4))
	case "work":
		work(r.work)
	case "work-effect":
		work(r.workWithEffect)
	default:
		check(fmt.Errorf("no command %q", command))
	}
}
